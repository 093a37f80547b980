// The store of a page: IndexedDB, durable at each commit, every row sealed under a key that never leaves the browser.
import { BandanaError, said } from "./error.js";
import { bytesOf, decodeCells, encodeCells, hexOf, keyOf } from "./rows.js";
import { Sealer } from "./seal.js";

const ROWS = "rows";
const KEYS = "keys";

function answered(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}
function ended(transaction) {
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve();
    transaction.onabort = () => reject(transaction.error ?? new Error("the transaction was aborted"));
  });
}

// Outside of the database, where a page has such a place. A worker has none.
const markOf = (name) => `bandana mark ${name}`;
const kept = (name) => globalThis.localStorage?.getItem(name);

class PageStore {
  durable = true;

  constructor(name, db, key) {
    this.markName = markOf(name);
    this.db = db;
    this.sealer = new Sealer(key);
    this.sealer.refill();
  }

  async rows() {
    const rows = this.db.transaction(ROWS).objectStore(ROWS);
    const [keys, values] = await Promise.all([answered(rows.getAllKeys()), answered(rows.getAll())]);
    return Promise.all(values.map(async (sealed, i) => {
      const key = new Uint8Array(keys[i]);
      return { table: key[0], cells: decodeCells(await this.open(key, sealed)) };
    }));
  }
  async open(key, sealed) {
    const plain = await this.sealer.open(key, sealed);
    if (!plain) throw new BandanaError("DATA_LOSS", "the store: a row was changed, or is of another store");
    return plain;
  }
  // Nothing is awaited before the rows are put, as long as keystreams last: then a page may go away right after.
  async commit(changes) {
    let sealed = changes.map((change) => {
      const key = keyOf(change);
      return [key, change.erased ? null : this.sealer.seal(key, encodeCells(change.cells))];
    });
    if (sealed.some(([, value]) => value instanceof Promise)) sealed = await Promise.all(sealed.map(async ([key, value]) => [key, await value]));
    const transaction = this.db.transaction(ROWS, "readwrite", { durability: "strict" });
    const rows = transaction.objectStore(ROWS);
    for (const [key, value] of sealed) value ? rows.put(value, key) : rows.delete(key);
    transaction.commit(); // else it waits for answers to this page, which may be gone
    await ended(transaction);
  }
  get mark() {
    const mark = kept(this.markName);
    return mark ? bytesOf(mark) : undefined;
  }
  keepMark(mark) {
    globalThis.localStorage?.setItem(this.markName, hexOf(mark));
  }
  close() {
    this.db.close();
  }
}

/** A store in IndexedDB under this name. Errors: UNAVAILABLE there is none here, it is blocked or full. */
export function pageStore(name = "bandana") {
  return {
    name,
    tabs: true,
    async open() {
      try {
        // A store without a mark is new, as far as anybody knows: its key is made while the database opens.
        const made = kept(markOf(name)) ? undefined : Sealer.makeKey();
        made?.catch(() => {}); // heard below
        const opening = indexedDB.open(`bandana ${name}`, 1);
        opening.onupgradeneeded = () => {
          opening.result.createObjectStore(ROWS);
          opening.result.createObjectStore(KEYS);
        };
        const db = await answered(opening);
        let key = await answered(db.transaction(KEYS).objectStore(KEYS).get("seal"));
        if (!key) {
          key = await (made ?? Sealer.makeKey());
          const transaction = db.transaction(KEYS, "readwrite", { durability: "strict" });
          transaction.objectStore(KEYS).put(key, "seal");
          await ended(transaction);
        }
        return new PageStore(name, db, key);
      } catch (error) {
        throw new BandanaError("UNAVAILABLE", `the store ${name} does not open: ${said(error)}`);
      }
    },
  };
}
