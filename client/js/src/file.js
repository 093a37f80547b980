// The store of a program in Node: one file, written anew and durably at each commit, and sealed as a whole.
import crypto from "node:crypto";
import fs from "node:fs";
import path from "node:path";

import { BandanaError } from "./error.js";
import { decodeCells, encodeCells, hexOf, keyOf } from "./rows.js";

const MAGIC = Buffer.from("bandanaj1\n");
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const owned = new Set(); // of this process
const refused = new Set(); // to this process, since it had them last

function syncFolder(file) {
  const folder = fs.openSync(path.dirname(file), "r");
  try {
    fs.fsyncSync(folder);
  } finally {
    fs.closeSync(folder);
  }
}
function writeWhole(file, bytes) {
  const made = `${file}.new`;
  const fd = fs.openSync(made, "w", 0o600);
  try {
    fs.writeFileSync(fd, bytes);
    fs.fsyncSync(fd);
  } finally {
    fs.closeSync(fd);
  }
  fs.renameSync(made, file);
  syncFolder(file);
}
function readIfThere(file) {
  try {
    return fs.readFileSync(file);
  } catch (error) {
    if (error.code === "ENOENT") return undefined;
    throw error;
  }
}

// The lock's file names its process; one of a process that is gone is taken over.
function lock(file) {
  const name = `${file}.lock`;
  if (owned.has(name)) throw new BandanaError("UNAVAILABLE", `the store ${file} is open in this process already`);
  for (let attempt = 0; attempt < 2; ++attempt) {
    try {
      fs.writeFileSync(name, String(process.pid), { flag: "wx", mode: 0o600 });
      owned.add(name);
      return name;
    } catch (error) {
      if (error.code !== "EEXIST") throw error;
    }
    const owner = Number(readIfThere(name));
    let lives = owner > 0 && owner !== process.pid;
    try {
      if (lives) process.kill(owner, 0);
    } catch (error) {
      lives = error.code !== "ESRCH";
    }
    if (lives) throw new BandanaError("UNAVAILABLE", `the store ${file} is open in process ${owner}`);
    fs.rmSync(name, { force: true });
  }
  throw new BandanaError("UNAVAILABLE", `the store ${file} is open elsewhere`);
}

class FileStore {
  durable = true;

  constructor(file, key, lockName) {
    this.file = file;
    this.key = key;
    this.lockName = lockName;
    this.kept = new Map(); // encoded cells, by the key's hex
  }

  async rows() {
    const bytes = readIfThere(this.file);
    if (!bytes) return [];
    const plain = this.open(bytes);
    const rows = [];
    for (let at = 0; at < plain.length;) {
      const size = plain.readUInt32LE(at + 1);
      const table = plain[at];
      const cells = decodeCells(new Uint8Array(plain.subarray(at + 5, at + 5 + size)));
      this.kept.set(hexOf(keyOf({ table, cells })), { table, cells: encodeCells(cells) });
      rows.push({ table, cells });
      at += 5 + size;
    }
    plain.fill(0);
    return rows;
  }
  async commit(changes) {
    const before = new Map(this.kept);
    for (const change of changes) {
      const key = hexOf(keyOf(change));
      if (change.erased) {
        this.kept.delete(key);
      } else {
        this.kept.set(key, { table: change.table, cells: encodeCells(change.cells) });
      }
    }
    try {
      writeWhole(this.file, this.seal());
    } catch (error) {
      // The rename may stand although its sync failed: then nobody knows.
      this.kept = before;
      throw Object.assign(error, { unknown: true });
    }
  }
  seal() {
    const parts = [];
    for (const { table, cells } of this.kept.values()) {
      const head = Buffer.alloc(5);
      head[0] = table;
      head.writeUInt32LE(cells.length, 1);
      parts.push(head, cells);
    }
    const plain = Buffer.concat(parts);
    const nonce = crypto.randomBytes(NONCE_BYTES);
    const cipher = crypto.createCipheriv("aes-256-gcm", this.key, nonce).setAAD(MAGIC);
    const sealed = Buffer.concat([cipher.update(plain), cipher.final()]);
    plain.fill(0);
    return Buffer.concat([MAGIC, nonce, sealed, cipher.getAuthTag()]);
  }
  open(bytes) {
    const begin = MAGIC.length + NONCE_BYTES;
    try {
      if (!bytes.subarray(0, MAGIC.length).equals(MAGIC)) throw new Error("no store");
      const decipher = crypto.createDecipheriv("aes-256-gcm", this.key, bytes.subarray(MAGIC.length, begin)).setAAD(MAGIC);
      decipher.setAuthTag(bytes.subarray(bytes.length - TAG_BYTES));
      return Buffer.concat([decipher.update(bytes.subarray(begin, bytes.length - TAG_BYTES)), decipher.final()]);
    } catch {
      throw new BandanaError("DATA_LOSS", `${this.file} is no store, is damaged, or has another key`);
    }
  }
  get mark() {
    const kept = readIfThere(`${this.file}.mark`);
    return kept && new Uint8Array(kept);
  }
  keepMark(mark) {
    writeWhole(`${this.file}.mark`, mark);
  }
  close() {
    this.key.fill(0);
    owned.delete(this.lockName);
    fs.rmSync(this.lockName, { force: true });
  }
}

function keyFor(file, given) {
  if (given !== undefined) {
    if (given.length !== KEY_BYTES) throw new BandanaError("INVALID_ARGUMENT", `store.key must have ${KEY_BYTES} bytes, got ${given.length}`);
    return Buffer.from(given);
  }
  const own = readIfThere(`${file}.key`);
  if (own) {
    if (own.length !== KEY_BYTES) throw new BandanaError("DATA_LOSS", `${file}.key is damaged: it is no key`);
    return own;
  }
  if (fs.existsSync(file)) throw new BandanaError("FAILED_PRECONDITION", `the store is sealed: store.key is needed, or the file ${file}.key`);
  const key = crypto.randomBytes(KEY_BYTES);
  writeWhole(`${file}.key`, key);
  return key;
}

/** A store in a file. `key`: 32 bytes that only the application has; without it the store makes its own, in FILE.key beside it. */
export function fileStore(file, { key } = {}) {
  return {
    name: path.resolve(file),
    async open() {
      let name;
      try {
        name = lock(path.resolve(file));
        const store = new FileStore(path.resolve(file), keyFor(path.resolve(file), key), name);
        store.takenOver = refused.delete(path.resolve(file));
        return store;
      } catch (error) {
        if (!name) refused.add(path.resolve(file));
        if (name) {
          owned.delete(name);
          fs.rmSync(name, { force: true });
        }
        if (error instanceof BandanaError) throw error;
        throw new BandanaError("UNAVAILABLE", `the store ${file} does not open: ${error.message}`);
      }
    },
  };
}
