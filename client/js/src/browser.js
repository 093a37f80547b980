// For pages and workers.
import { connectWith } from "./client.js";
import { pageStore } from "./indexeddb.js";

let module;

/** Connects to one model. See index.d.ts. `wasm`: where the module lies, beside this file if not said. */
export function connect({ wasm = new URL("../bandana.wasm", import.meta.url), ...options }) {
  module ??= WebAssembly.compileStreaming(fetch(wasm));
  module.catch(() => (module = undefined));
  return connectWith(module, pageStore, options);
}

export { BandanaError } from "./error.js";
export { memoryStore } from "./memory_store.js";
export { pageStore };
