// Runs schedules on the core as WebAssembly in Node, over its file, and compares what the hooks were given (README.md).
// Usage: replay.mjs MODULE CLIENT_JS_FOLDER SCHEDULES. Exit 1 where anything differs.
import crypto from "node:crypto";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import readline from "node:readline";
import { pathToFileURL } from "node:url";

const [modulePath, clientFolder, schedulesPath] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(path.resolve(clientFolder, name)));
const { MARK_BYTES, Memory } = await load("layout.js");
const { fileStore } = await load("file.js");

const KEY = new Uint8Array(32);
const FEATURES = [1, 0, 0, 1, 0.6, 0.8];
const IDS = [3, 4, 5];
const UNAVAILABLE = 14;
const module = new WebAssembly.Module(fs.readFileSync(modulePath));

const hex = (bytes) => Buffer.from(bytes).toString("hex");
const scratch = new DataView(new ArrayBuffer(8));
function bitsOf(value) {
  scratch.setFloat64(0, value);
  return scratch.getBigUint64(0);
}
function doubleOf(bits) {
  scratch.setBigUint64(0, BigInt(bits));
  return scratch.getFloat64(0);
}

class Host {
  constructor(schedule, file) {
    Object.assign(this, { schedule, file, device: 0, client: 0, drawn: 0, tag: 0n, commits: "stand", entropyFails: false });
    Object.assign(this, { wall: 0n, elapsed: 0n, handles: [], lines: [], changes: [], held: undefined, store: undefined });
    this.c = new WebAssembly.Instance(module, {
      bandana: {
        call: (_, at) => this.onCall(at),
        commit: (_, at) => this.onCommit(at),
        random: (_, at, size) => this.onRandom(at, size),
        wall_ns: () => this.wall,
        elapsed_ns: () => this.elapsed,
        wake: (_, at) => this.lines.push(`wake ${at}`),
        mark: (_, at) => this.onMark(at),
        tell: (_, at) => this.onTell(this.memory.read("result", at)),
      },
    }).exports;
    this.memory = new Memory(this.c);
    this.c._initialize();
  }

  // --- hooks

  onCall(at) {
    const call = this.memory.read("call", at);
    const headers = this.memory.array("header", call.headers)
      .map(({ name, value }) => ` ${this.memory.literal(name)}=${this.memory.literal(value)}`).join("");
    this.lines.push(`call ${call.id} ${this.memory.literal(call.path)} ${hex(this.memory.copy(call.body.data, call.body.size))}${headers} `
      + `${call.deadline_ms} ${call.wait_for_ready} ${call.keep_connection} ${this.memory.text(call.target)}`);
  }
  onCommit(at) {
    const commit = this.memory.read("commit", at);
    this.lines.push(`commit ${commit.id} ${commit.erased_private}`);
    this.changes = this.memory.array("change", commit.changes).map(({ table, erased, cells }) => ({
      table,
      erased: erased !== 0,
      cells: this.memory.array("cell", cells).map(({ kind, integer, real, bytes }) => (
        { kind, value: kind === 0 ? integer : kind === 1 ? real : this.memory.copy(bytes.data, bytes.size) })),
    }));
    for (const { table, erased, cells } of this.changes) {
      const texts = cells.map(({ kind, value }) => (kind === 0 ? `i${value}` : kind === 1 ? `r${bitsOf(value)}` : `b${hex(value)}`));
      this.lines.push([erased ? "erase" : "put", table, ...texts].join(" "));
    }
    if (this.commits === "hold") {
      this.held = commit.id;
      return;
    }
    if (this.commits === "stand") this.store.commit(this.changes); // a file is written before it returns
    this.c.bandana_committed(this.device, commit.id, this.commits === "stand" ? 0 : UNAVAILABLE);
  }
  onRandom(at, size) {
    if (this.entropyFails) return 1;
    const out = this.memory.bytes(at, size);
    for (let i = 0; i < size; ++i, ++this.drawn) {
      const block = crypto.createHash("sha256").update(`bandana schedule ${this.schedule} ${Math.floor(this.drawn / 32)}`).digest();
      out[i] = block[this.drawn % 32];
    }
    return 0;
  }
  onMark(at) {
    const mark = this.memory.copy(at, MARK_BYTES);
    const view = new DataView(mark.buffer);
    const numbers = [0, 1, 2, 3].map((i) => view.getBigUint64(24 + 8 * i, true));
    this.lines.push(`mark ${numbers.join(" ")} ${hex(mark.slice(56, 88))}`);
    this.store.keepMark(mark);
  }
  onTell(result) {
    let line = `told ${result.tag} ${result.kind} ${result.code} ${result.client} ${result.value}`;
    for (const { handle } of this.memory.array("selection", result.selections)) {
      this.handles.push(this.memory.copy(handle.data, handle.size));
      line += ` ${hex(this.handles.at(-1))}`;
    }
    if (result.spent !== 0) line += ` ${this.memory.read("spent", result.spent).events}`;
    this.lines.push(`${line} ${this.memory.text(result.message)}`);
    if (result.kind === 2 && result.code === 0) this.client = result.client;
  }

  // --- steps

  ask(name, body) {
    const code = this.memory.scope(() => body(this.memory));
    if (code !== 0) this.lines.push(`returned ${name} ${code} ${this.memory.literal(this.c.bandana_error())}`);
  }
  async open() {
    this.close();
    Object.assign(this, { client: 0, held: undefined, commits: "stand", entropyFails: false });
    this.store = await fileStore(this.file, { key: KEY }).open();
    const rows = await this.store.rows();
    const { mark } = this.store;
    this.device = this.c.bandana_module_device(0);
    for (const { table, cells } of rows) {
      this.ask("load", (memory) => {
        const { data, size } = memory.structs("cell", cells.map(({ kind, value }) => ({ kind, [["integer", "real", "bytes"][kind]]: value })));
        return this.c.bandana_load(this.device, table, data, size);
      });
    }
    this.ask("start", (memory) => this.c.bandana_start(this.device,
      memory.struct("start", { durable: 1, seen: mark ? memory.put(mark).data : 0 }), ++this.tag));
  }
  close() {
    if (this.store === undefined) return;
    this.c.bandana_device_free(this.device);
    this.store.close();
  }
  bytesAt(memory, given) {
    return memory.putPlain([memory.put(given)]).data;
  }

  async run([wall, elapsed, kind, textHex, numberText, secondText, bits, headers]) {
    this.wall = BigInt(wall);
    this.elapsed = BigInt(elapsed);
    const [number, second, text] = [Number(numberText), Number(secondText), new Uint8Array(Buffer.from(textHex, "hex"))];
    const { c, device, client } = this;
    const steps = {
      open: () => this.open(),
      connect: () => this.ask(kind, (memory) => {
        const options = memory.struct("options");
        c.bandana_options_init(options);
        memory.write("options", options,
          { target: "server", model: text, leave: number, events_per_user_max: second, epsilon_max: doubleOf(bits) });
        return c.bandana_connect(device, options, ++this.tag);
      }),
      select: () => this.ask(kind, (memory) => {
        const arms = memory.struct("arms", { features: memory.putDoubles(FEATURES), ids: memory.putIds(IDS) });
        return c.bandana_select(device, client, memory.struct("request", { by: second, top_k: 1, slots: number, user: text, arms }), ++this.tag);
      }),
      activate: () => this.ask(kind, (memory) => c.bandana_activate(device, client, this.bytesAt(memory, this.handles[number]), ++this.tag)),
      report: () => this.ask(kind, (memory) => c.bandana_report(device, client,
        memory.struct("report", { handle: this.handles[number], reward: doubleOf(bits) }), ++this.tag)),
      refresh: () => this.ask(kind, (memory) => c.bandana_refresh_posterior(device, client, this.bytesAt(memory, text), ++this.tag)),
      spent: () => this.ask(kind, (memory) => c.bandana_read_spent(device, client, this.bytesAt(memory, text), ++this.tag)),
      begin: () => this.ask(kind, () => c.bandana_begin(device, client)),
      flush: () => this.ask(kind, () => c.bandana_flush(device, client, ++this.tag)),
      close: () => {
        this.ask(kind, () => c.bandana_close(device, client));
        this.client = 0;
      },
      wake: () => this.ask(kind, () => c.bandana_wake(device)),
      answer: () => this.ask(kind, (memory) => {
        const made = headers.map(([name, value]) => ({ name: memory.put(name).data, value: memory.put(value).data }));
        const answer = memory.struct("answer", { http_status: second, body: text, headers: memory.structs("header", made) });
        return c.bandana_answer(device, BigInt(number), answer);
      }),
      commits: () => { this.commits = Buffer.from(text).toString(); },
      committed: () => {
        if (this.held === undefined) return;
        if (number === 0) this.store.commit(this.changes);
        const commit = this.held;
        Object.assign(this, { held: undefined, commits: "stand" });
        this.ask(kind, () => c.bandana_committed(device, commit, number));
      },
      entropy: () => { this.entropyFails = number !== 0; },
    };
    await steps[kind]();
    return this.lines.splice(0);
  }
}

const folder = fs.mkdtempSync(path.join(fs.existsSync("/dev/shm") ? "/dev/shm" : os.tmpdir(), "replay"));
let [runs, steps, differences] = [0, 0, 0];
try {
  for await (const line of readline.createInterface({ input: fs.createReadStream(schedulesPath) })) {
    const [schedule, events] = JSON.parse(line);
    const host = new Host(schedule, path.join(folder, schedule));
    for (const [number, step] of events.entries()) {
      const lines = await host.run(step);
      ++steps;
      if (JSON.stringify(lines) !== JSON.stringify(step[8])) {
        ++differences;
        console.log(`schedule ${schedule} step ${number} ${step[2]}:\n  expected ${JSON.stringify(step[8])}\n  got      ${JSON.stringify(lines)}`);
        break;
      }
    }
    host.close();
    ++runs;
  }
} finally {
  fs.rmSync(folder, { recursive: true, force: true });
}
console.log(`node: ${runs} schedules, ${steps} steps, ${differences} differences`);
process.exitCode = differences > 0 || runs === 0 ? 1 : 0;
