// One device: the WebAssembly module with its hooks over a store, fetch and timers.
import { armsOf, backendAnswerOf, optionsOf } from "./asked.js";
import { BandanaError, said } from "./error.js";
import { MARK_BYTES, Memory } from "./layout.js";

const BY = { select: 0, slots: 1, deferred: 2, onDevice: 3, point: 4 };
const DELIVERIES = ["applied", "duplicate", "expired", "rejected", "dropped"];
const DELIVERED = 7;
const UNAVAILABLE = 14;
const TIMEOUT_MS_MAX = 2 ** 31 - 1;
const RANDOM_AT_ONCE_MAX = 65536;

const camel = (name) => name.replace(/_(\w)/g, (_, letter) => letter.toUpperCase());
const plain = (value) => (typeof value === "bigint" ? Number(value) : value);

export class Device {
  /** `module`: WebAssembly.Module. `store`: as open() of a store. `serverOf(url)`: {url, token} of a client. */
  constructor(module, store, serverOf) {
    this.store = store;
    this.serverOf = serverOf;
    this.tags = 0;
    this.waiting = new Map(); // by tag
    const hooks = Object.entries(this.imports()).map(([name, hook]) => [name, (...given) => this.hook(hook, given)]);
    const exports = new WebAssembly.Instance(module, { bandana: Object.fromEntries(hooks) }).exports;
    this.c = exports;
    this.memory = new Memory(exports);
    exports._initialize();
    this.device = exports.bandana_module_device(0);
  }

  imports() {
    return {
      call: (_, at) => this.onCall(at),
      commit: (_, at) => this.onCommit(at),
      random: (_, at, size) => this.onRandom(at, size),
      wall_ns: () => BigInt(Math.round((this.store.now?.() ?? Date.now()) * 1e6)),
      elapsed_ns: () => BigInt(Math.round(performance.now() * 1e6)),
      wake: (_, at) => this.onWake(at),
      mark: (_, at) => this.store.keepMark(this.memory.copy(at, MARK_BYTES)),
      tell: (_, at) => this.onTell(this.memory.read("result", at)),
    };
  }

  /** Loads the rows and begins a run. */
  async start(rows, { mark, takenOver = false } = {}) {
    for (const { table, cells } of rows) {
      this.run((memory) => {
        const { data, size } = memory.structs("cell", cells.map(({ kind, value }) => ({ kind, [["integer", "real", "bytes"][kind]]: value })));
        return this.c.bandana_load(this.device, table, data, size);
      });
    }
    return this.ask((memory, tag) => {
      const seen = mark ? memory.put(mark).data : 0;
      return this.c.bandana_start(this.device, memory.struct("start", { durable: Number(this.store.durable), taken_over: Number(takenOver), seen }), tag);
    });
  }
  async connect(options) {
    const { client } = await this.ask((memory, tag) => this.c.bandana_connect(this.device, optionsOf(memory, this.c, options), tag));
    return client;
  }
  async select(client, by, user, arms, { topK = 1, shown = 0, slots = 0 } = {}) {
    const { selections } = await this.ask((memory, tag) => this.c.bandana_select(this.device, client,
      memory.struct("request", { by: BY[by], top_k: topK, shown, slots, user, arms: by === "point" ? 0 : armsOf(memory, arms) }), tag));
    return by === "slots" ? selections : selections[0];
  }
  async adopt(client, user, answer) {
    const { selections } = await this.ask((memory, tag) => this.c.bandana_adopt(this.device, client, this.bytesAt(memory, user), backendAnswerOf(memory, answer), tag));
    return selections[0];
  }
  activate(client, handle) {
    return this.ask((memory, tag) => this.c.bandana_activate(this.device, client, this.bytesAt(memory, handle), tag));
  }
  /** Resolves when the reaction is durable. `delivered` hears what became of the report, if anything does. */
  async report(client, handle, reward, shown, delivered) {
    await this.ask((memory, tag) => this.c.bandana_report(this.device, client,
      memory.struct("report", { handle, reward: reward ?? NaN, has_shown: shown === undefined ? 0 : 1, shown: shown ?? 0 }), tag), delivered);
  }
  async refreshPosterior(client, user) {
    return (await this.ask((memory, tag) => this.c.bandana_refresh_posterior(this.device, client, this.bytesAt(memory, user), tag))).value === 1;
  }
  async spent(client, user) {
    return (await this.ask((memory, tag) => this.c.bandana_read_spent(this.device, client, this.bytesAt(memory, user), tag))).spent;
  }
  begin(client) {
    this.run(() => this.c.bandana_begin(this.device, client));
  }
  flush(client) {
    return this.ask((_, tag) => this.c.bandana_flush(this.device, client, tag));
  }
  stats(client) {
    return this.info("stats", client, this.c.bandana_get_stats);
  }
  model(client) {
    const info = this.info("model", client, this.c.bandana_get_model);
    const flags = ["rewardBinary", "local", "localContext"];
    for (const flag of flags) info[flag] = info[flag] === 1;
    info.rewardWindowMs = info.rewardWindowMs < 0 ? null : info.rewardWindowMs;
    return info;
  }
  closeClient(client) {
    this.run(() => this.c.bandana_close(this.device, client));
  }
  /** Nothing is told any more; whoever waits hears `reason`. */
  free(reason = new BandanaError("CANCELLED", "the client is closed")) {
    if (this.freed) return;
    this.freed = reason;
    clearTimeout(this.timer);
    this.c.bandana_device_free(this.device);
    for (const { reject } of this.waiting.values()) reject(reason);
    this.waiting.clear();
  }

  // --- calls of the module

  bytesAt(memory, given) {
    return memory.putPlain([memory.put(given)]).data;
  }
  run(body) {
    if (this.freed) throw this.freed;
    const code = this.memory.scope(() => body(this.memory));
    if (code !== 0) throw new BandanaError(code, this.memory.literal(this.c.bandana_error()));
  }
  /** The result that is told with the tag. */
  ask(body, delivered) {
    const tag = ++this.tags;
    return new Promise((resolve, reject) => {
      this.waiting.set(tag, { resolve, reject, delivered });
      try {
        this.run((memory) => body(memory, BigInt(tag)));
      } catch (error) {
        this.waiting.delete(tag);
        reject(error);
      }
    });
  }
  info(name, client, get) {
    let read;
    this.run((memory) => {
      const at = memory.struct(name);
      const code = get(this.device, client, at);
      read = memory.read(name, at);
      for (const [field, value] of Object.entries(read)) {
        read[field] = value?.data === undefined ? plain(value) : memory.text(value);
      }
      return code;
    });
    delete read.size;
    return Object.fromEntries(Object.entries(read).map(([field, value]) => [camel(field), value]));
  }
  selectionAt(read) {
    const memory = this.memory;
    return {
      arms: memory.array("arm", read.arms).map((arm) => ({ ...arm, name: memory.text(arm.name) })),
      handle: memory.copy(read.handle.data, read.handle.size),
      posteriorVersion: plain(read.posterior_version),
      point: memory.doubles(read.point),
      notes: Array.from({ length: read.notes.size }, (_, i) => {
        const at = read.notes.data + 8 * i;
        return memory.text({ data: memory.view.getUint32(at, true), size: memory.view.getUint32(at + 4, true) });
      }),
    };
  }

  // --- hooks

  // A hook that throws would leave the module in the middle of its work: the device ends instead, and sends nothing more.
  hook(hook, given) {
    try {
      return hook(...given);
    } catch (error) {
      this.free(new BandanaError("UNAVAILABLE", `a hook failed: ${said(error)}`));
      return 1; // `random` failed; of others nobody reads it
    }
  }

  onTell(result) {
    const tag = Number(result.tag);
    const waiter = this.waiting.get(tag);
    if (!waiter) return;
    // Of a repeat the last word comes before the first one.
    if (result.kind === DELIVERED) {
      if (waiter.told) this.waiting.delete(tag);
      waiter.delivered?.(DELIVERIES[result.value]);
      return;
    }
    waiter.told = true;
    if (!waiter.delivered || result.code !== 0) this.waiting.delete(tag);
    if (result.code !== 0) {
      const why = this.failure && result.code === UNAVAILABLE ? ` (the store: ${said(this.failure)})` : "";
      waiter.reject(new BandanaError(result.code, this.memory.text(result.message) + why));
      return;
    }
    const told = { client: result.client, value: result.value, selections: this.memory.array("selection", result.selections).map((one) => this.selectionAt(one)) };
    if (result.spent) {
      told.spent = Object.fromEntries(Object.entries(this.memory.read("spent", result.spent)).map(([field, value]) => [camel(field), plain(value)]));
    }
    waiter.resolve(told);
  }
  onRandom(at, size) {
    try {
      for (let done = 0; done < size; done += RANDOM_AT_ONCE_MAX) {
        crypto.getRandomValues(this.memory.bytes(at + done, Math.min(size - done, RANDOM_AT_ONCE_MAX)));
      }
      return 0;
    } catch {
      return 1;
    }
  }
  // A timer that comes early is borne: the module then asks for another one.
  onWake(at) {
    clearTimeout(this.timer);
    if (at < 0n) return;
    const delay = Math.max(0, Number(at) / 1e6 - performance.now());
    this.timer = setTimeout(() => this.freed || this.c.bandana_wake(this.device), Math.min(Math.ceil(delay), TIMEOUT_MS_MAX));
    this.timer.unref?.();
  }
  onCommit(at) {
    const commit = this.memory.read("commit", at);
    const changes = this.memory.array("change", commit.changes).map(({ table, erased, cells }) => ({
      table,
      erased: erased === 1,
      cells: this.memory.array("cell", cells).map((cell) => ({
        kind: cell.kind,
        value: cell.kind === 0 ? cell.integer : cell.kind === 1 ? cell.real : this.memory.copy(cell.bytes.data, cell.bytes.size),
      })),
    }));
    this.store.commit(changes, { erasedPrivate: commit.erased_private === 1 }).then(
      () => {
        this.failure = undefined;
        this.committed(commit.id, 0);
      },
      (error) => {
        if (error.unknown) return this.free(new BandanaError("UNAVAILABLE", `the store failed: ${said(error)}`));
        this.failure = error;
        this.committed(commit.id, UNAVAILABLE);
      },
    );
  }
  committed(id, code) {
    if (!this.freed) this.c.bandana_committed(this.device, id, code);
  }
  onCall(at) {
    const call = this.memory.read("call", at);
    const headers = Object.fromEntries(this.memory.array("header", call.headers).map(({ name, value }) => [this.memory.literal(name), this.memory.literal(value)]));
    if (call.keep_connection === 0) headers.connection = "close"; // in Node; a browser leaves the header out, and does as it likes
    const made = { path: this.memory.literal(call.path), headers, body: this.memory.copy(call.body.data, call.body.size), deadline: Number(call.deadline_ms) };
    this.request(this.memory.text(call.target), made).then((answer) => this.answer(call.id, answer));
  }
  async request(target, { path, headers, body, deadline }) {
    const { url, token } = this.serverOf(target);
    try {
      const signal = AbortSignal.timeout(Math.min(deadline, TIMEOUT_MS_MAX));
      const bearer = await token?.();
      const response = await fetch(url + path, { method: "POST", headers: bearer ? { ...headers, authorization: `Bearer ${bearer}` } : headers, body, signal,
        cache: "no-store", credentials: "omit", redirect: "error", referrerPolicy: "no-referrer" });
      const answer = new Uint8Array(await response.arrayBuffer());
      return { status: response.status, headers: [...response.headers].filter(([name]) => name.startsWith("grpc-")), body: answer };
    } catch (error) {
      return { status: error?.name === "TimeoutError" ? -1 : 0, headers: [], body: new Uint8Array() };
    }
  }
  answer(id, { status, headers, body }) {
    if (this.freed) return;
    this.run((memory) => {
      const zero = (text) => memory.put(`${text}\0`).data;
      const all = memory.structs("header", headers.map(([name, value]) => ({ name: zero(name), value: zero(value) })));
      return this.c.bandana_answer(this.device, id, memory.struct("answer", { http_status: status, headers: all, body }));
    });
  }
}
