// For Node, 18 and later.
import fs from "node:fs/promises";
import { webcrypto } from "node:crypto";

import { connectWith } from "./client.js";
import { BandanaError } from "./error.js";
import { fileStore } from "./file.js";
import { memoryStore } from "./memory_store.js";

globalThis.crypto ??= webcrypto; // Node 18 has it under a flag

let module;

/** Connects to one model. See index.d.ts. `store` is needed: fileStore, or memoryStore for models without privacy. */
export function connect({ wasm = new URL("../bandana.wasm", import.meta.url), ...options }) {
  if (!options.store) return Promise.reject(new BandanaError("INVALID_ARGUMENT", "store is needed: fileStore(path)"));
  module ??= fs.readFile(wasm).then((bytes) => WebAssembly.compile(bytes));
  module.catch(() => (module = undefined));
  return connectWith(module, undefined, options);
}

export { BandanaError, fileStore, memoryStore };
