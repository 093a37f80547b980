// Rows as bytes: cells one after the other, so that a store keeps a key and one value.

const HEADS = [8, 8, 4]; // bytes before a cell's own: an integer, a real, the length of bytes

/** Cells: {kind: 0 integer, 1 real, 2 bytes; value: bigint, number, Uint8Array}. */
export function encodeCells(cells) {
  const size = cells.reduce((sum, { kind, value }) => sum + 1 + HEADS[kind] + (kind === 2 ? value.length : 0), 0);
  const bytes = new Uint8Array(size);
  const view = new DataView(bytes.buffer);
  let at = 0;
  for (const { kind, value } of cells) {
    bytes[at++] = kind;
    if (kind === 0) view.setBigInt64(at, value, true);
    if (kind === 1) view.setFloat64(at, value, true);
    if (kind === 2) {
      view.setUint32(at, value.length, true);
      bytes.set(value, at + 4);
      at += value.length;
    }
    at += HEADS[kind];
  }
  return bytes;
}

/** Throws where the bytes are no cells. */
export function decodeCells(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const cells = [];
  for (let at = 0; at < bytes.length;) {
    const kind = bytes[at++];
    if (!(kind in HEADS)) throw new RangeError("no cell");
    let value;
    if (kind === 0) value = view.getBigInt64(at, true);
    if (kind === 1) value = view.getFloat64(at, true);
    const head = at + HEADS[kind];
    if (kind === 2) {
      const size = view.getUint32(at, true);
      if (size > bytes.length - head) throw new RangeError("a cell is cut off");
      value = bytes.slice(head, head + size);
      at += size;
    }
    at += HEADS[kind];
    cells.push({ kind, value });
  }
  return cells;
}

// Columns of the key, by table (client/core/table_forms.cc).
const KEYS = [1, 1, 1, 1, 1, 2, 1, 2];

/** The key of a changed row, with its table. */
export function keyOf({ table, cells }) {
  const key = encodeCells(cells.slice(0, KEYS[table]));
  const bytes = new Uint8Array(1 + key.length);
  bytes[0] = table;
  bytes.set(key, 1);
  return bytes;
}

export function hexOf(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
export function bytesOf(hex) {
  return Uint8Array.from(hex.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}
