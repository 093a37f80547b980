// Rows are sealed without waiting: a page may go away right after a reaction, and WebCrypto answers later. So keystreams of AES-256-CTR are
// had before they are needed, each of a fresh nonce and used once. Its first 32 bytes are the key of Poly1305 over name and ciphertext, as in
// RFC 8439, the rest is added to the row. The key itself never leaves the browser.
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const MAC_KEY_BYTES = 32;
const PAD_BYTES = 1024; // of the rows of a decision; longer ones wait for a keystream of their own
const PADS = 16;
const PRIME = (1n << 130n) - 5n;
const CLAMP = 0x0ffffffc0ffffffc0ffffffc0fffffffn;
const MASK = (1n << 128n) - 1n;

function little(bytes, at) {
  const view = new DataView(bytes.buffer, bytes.byteOffset + at, 16);
  return view.getBigUint64(0, true) | (view.getBigUint64(8, true) << 64n);
}

/** Poly1305 (RFC 8439) of a message. `key`: 32 bytes, used once. */
export function poly1305(key, message) {
  const r = little(key, 0) & CLAMP;
  let sum = 0n;
  for (let at = 0; at < message.length; at += 16) {
    const block = new Uint8Array(16);
    const size = Math.min(16, message.length - at);
    block.set(message.subarray(at, at + size));
    sum = ((sum + little(block, 0) + (1n << BigInt(8 * size))) * r) % PRIME;
  }
  const tag = new Uint8Array(TAG_BYTES);
  const view = new DataView(tag.buffer);
  sum = (sum + little(key, 16)) & MASK;
  view.setBigUint64(0, sum & ((1n << 64n) - 1n), true);
  view.setBigUint64(8, sum >> 64n, true);
  return tag;
}

const padded = (size) => Math.ceil(size / 16) * 16;

function tagOf(stream, name, cipher) {
  const message = new Uint8Array(padded(name.length) + padded(cipher.length) + 16);
  message.set(name);
  message.set(cipher, padded(name.length));
  const lengths = new DataView(message.buffer, message.length - 16);
  lengths.setUint32(0, name.length, true);
  lengths.setUint32(8, cipher.length, true);
  return poly1305(stream.subarray(0, MAC_KEY_BYTES), message);
}

export class Sealer {
  /** `key`: a CryptoKey of AES-CTR. */
  constructor(key) {
    this.key = key;
    this.pads = [];
    this.making = 0;
  }
  static makeKey() {
    return crypto.subtle.generateKey({ name: "AES-CTR", length: 256 }, /*extractable=*/false, ["encrypt"]);
  }

  async stream(nonce, size) {
    const counter = new Uint8Array(16);
    counter.set(nonce);
    return new Uint8Array(await crypto.subtle.encrypt({ name: "AES-CTR", counter, length: 32 }, this.key, new Uint8Array(MAC_KEY_BYTES + size)));
  }
  async pad(size = PAD_BYTES) {
    const nonce = crypto.getRandomValues(new Uint8Array(NONCE_BYTES));
    return { nonce, stream: await this.stream(nonce, size) };
  }
  /** Keystreams for the rows to come. */
  async refill() {
    while (this.pads.length + this.making < PADS) {
      ++this.making;
      this.pad().then((pad) => this.pads.push(pad)).catch(() => {}).finally(() => --this.making);
    }
  }
  /** Sealed at once, or a promise of it. `plain` is erased. */
  seal(name, plain) {
    const pad = plain.length <= PAD_BYTES ? this.pads.pop() : undefined;
    this.refill();
    return pad ? this.sealWith(pad, name, plain) : this.pad(plain.length).then((made) => this.sealWith(made, name, plain));
  }
  sealWith({ nonce, stream }, name, plain) {
    const sealed = new Uint8Array(NONCE_BYTES + plain.length + TAG_BYTES);
    const cipher = sealed.subarray(NONCE_BYTES, NONCE_BYTES + plain.length);
    for (let i = 0; i < plain.length; ++i) cipher[i] = plain[i] ^ stream[MAC_KEY_BYTES + i];
    sealed.set(nonce);
    sealed.set(tagOf(stream, name, cipher), NONCE_BYTES + plain.length);
    plain.fill(0);
    stream.fill(0);
    return sealed;
  }
  /** Undefined: the bytes were changed, or are of another name or key. */
  async open(name, sealed) {
    const size = sealed.length - NONCE_BYTES - TAG_BYTES;
    if (size < 0) return undefined;
    const stream = await this.stream(sealed.subarray(0, NONCE_BYTES), size);
    const cipher = sealed.subarray(NONCE_BYTES, NONCE_BYTES + size);
    const tag = tagOf(stream, name, cipher);
    let other = 0;
    for (let i = 0; i < TAG_BYTES; ++i) other |= tag[i] ^ sealed[NONCE_BYTES + size + i];
    return other === 0 ? cipher.map((byte, i) => byte ^ stream[MAC_KEY_BYTES + i]) : undefined;
  }
}
