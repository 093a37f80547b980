// The WebAssembly module by itself, under Node: module_test.mjs MODULE GZIPPED_BYTES_MAX.
// Its imports are the hooks alone, it has a bounded size, and a device starts, sleeps and is freed by its own rules.
import assert from "node:assert";
import fs from "node:fs";
import { randomFillSync } from "node:crypto";
import zlib from "node:zlib";

const HOOKS = ["call", "commit", "elapsed_ns", "mark", "random", "tell", "wake", "wall_ns"];
const STARTED = 1;
const DATA_LOSS = 15;
const INVALID_ARGUMENT = 3;

const [file, bytesMax] = process.argv.slice(2);
const bytes = fs.readFileSync(file);
const gzipped = zlib.gzipSync(bytes, { level: 9 }).length;
console.log(`${bytes.length} bytes, ${gzipped} gzipped`);
assert(gzipped <= Number(bytesMax), `the module has ${gzipped} bytes gzipped, more than ${bytesMax}`);

const module = new WebAssembly.Module(bytes);
const imports = WebAssembly.Module.imports(module);
assert.deepStrictEqual(imports.map(({ module, name }) => `${module}.${name}`).sort(), HOOKS.map((name) => `bandana.${name}`));

class Host {
  told = [];
  commits = [];
  alarms = [];
  marks = 0;

  constructor() {
    const bandana = {
      call: () => assert.fail("nothing was asked for"),
      commit: (_, at) => this.commits.push({ id: this.view.getBigUint64(at + 8, true), changes: this.view.getUint32(at + 20, true) }),
      random: (_, at, size) => (randomFillSync(new Uint8Array(this.memory.buffer, at, size)), 0),
      wall_ns: () => 1_800_000_000_000_000_000n,
      elapsed_ns: () => 5_000_000_000n,
      wake: (_, at) => this.alarms.push(at),
      mark: () => this.marks++,
      tell: (_, at) => this.told.push({ tag: this.view.getBigUint64(at + 8, true), kind: this.view.getInt32(at + 16, true),
        code: this.view.getInt32(at + 20, true) }),
    };
    this.c = new WebAssembly.Instance(module, { bandana }).exports;
    this.memory = this.c.memory;
    this.c._initialize();
    this.device = this.c.bandana_module_device(0);
  }
  get view() {
    return new DataView(this.memory.buffer);
  }
  // start: size, durable, taken_over, seen
  start(size = 16) {
    const at = this.c.bandana_allocate(16);
    [size, 1, 0, 0].forEach((value, i) => this.view.setUint32(at + 4 * i, value, true));
    const code = this.c.bandana_start(this.device, at, 7n);
    this.c.bandana_deallocate(at);
    return code;
  }
  get error() {
    const at = this.c.bandana_error();
    const text = new Uint8Array(this.memory.buffer, at);
    return Buffer.from(text.subarray(0, text.indexOf(0))).toString();
  }
}

const host = new Host();
assert.strictEqual(host.start(15), INVALID_ARGUMENT);
assert.match(host.error, /^start.size must be 16, got 15/);
assert.strictEqual(host.start(), 0);
assert.strictEqual(host.commits.length, 1, "a new store is a commit");
assert.strictEqual(host.commits[0].changes, 1);
assert.deepStrictEqual(host.told, [], "nothing is told before it is durable");
assert.strictEqual(host.c.bandana_committed(host.device, host.commits[0].id, 0), 0);
assert.deepStrictEqual(host.told, [{ tag: 7n, kind: STARTED, code: 0 }]);
assert.strictEqual(host.marks, 1);
assert.strictEqual(host.c.bandana_wake(host.device), 0);
assert.deepStrictEqual(host.alarms, [-1n]);
assert.strictEqual(host.c.bandana_device_free(host.device), 0);
assert.strictEqual(host.c.bandana_wake(host.device), INVALID_ARGUMENT);
assert.match(host.error, /does not live/);

// Bytes that are no rows of a store.
const other = new Host();
const cells = other.c.bandana_allocate(80);
new Uint8Array(other.memory.buffer, cells, 80).fill(0);
assert.strictEqual(other.c.bandana_load(other.device, 6, cells, 2), 0, other.error);
assert.strictEqual(other.start(), DATA_LOSS);
assert.ok(WebAssembly.Module.exports(module).length < 40);
