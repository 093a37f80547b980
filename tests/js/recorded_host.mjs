// The host of the JavaScript SDK under a clock, a network and a store of our own, written down as a path of docs/wire_sdk.md for the judge:
// recorded_host.mjs PACKAGE VECTORS MUTANT SEED. Mutants are hosts that break a duty.
import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";

const [pkg, vectors, mutant, seed] = process.argv.slice(2);
const { Device } = await import(path.join(pkg, "src/device.js"));
const module = new WebAssembly.Module(fs.readFileSync(path.join(pkg, "bandana.wasm")));
const TABLES = ["store", "policies", "ledger", "reports", "streams", "steps", "drawn", "kept"];
const KEYS = [1, 1, 1, 1, 1, 2, 1, 2];
const TOLD = { 1: "started", 2: "connected", 3: "selected", 6: "queued" };
const [STORE, LEDGER, REPORTS, DRAWN, KEPT] = [0, 2, 3, 6, 7];
const POSITION = 4; // column of the store
const ARMS = [[1, 0], [0, 1]];
const ROUNDS = 120;

// --- chance, and the world's time

let state = BigInt(seed) * 2n + 1n;
function chance(below) {
  state = (state * 6364136223846793005n + 1442695040888963407n) & ((1n << 64n) - 1n);
  return Number((state >> 33n) % BigInt(below));
}
let elapsedMs = 1000;
const BEGIN_MS = 1_800_000_000_000;
const wallMs = () => BEGIN_MS + elapsedMs;
performance.now = () => elapsedMs;
Date.now = () => (mutant === "frozen-clock" ? BEGIN_MS + 1000 : wallMs());
let timer; // the host's alarm
const later = globalThis.setTimeout;
globalThis.setTimeout = (run, delay) => (timer = { run, at: elapsedMs + delay, unref() {} });
globalThis.clearTimeout = (old) => old === timer && (timer = undefined);
const settle = () => new Promise((resolve) => later(resolve, 0));

// --- what is written down

const steps = [];
let wake = null;
const hook = (...what) => steps.at(-1).hooks.push(what);
// An event, and what follows from it before anything else is told. The result gives what the event promised.
async function step(what, run) {
  steps.push({ wall_us: String(wallMs() * 1000), elapsed_ns: String(elapsedMs * 1e6), ...what, hooks: [] });
  const promised = run();
  promised?.catch?.(() => {}); // heard where it is awaited
  await settle();
  steps.at(-1).wake_ns = wake;
  return () => promised;
}
const hex = (bytes) => Buffer.from(bytes).toString("hex");
function bitsOf(real) {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleBE(real);
  return bytes.toString("hex");
}
const text = ({ kind, value }) => (kind === 0 ? `i${value}` : kind === 1 ? `r${bitsOf(value)}` : `b${hex(value)}`);

// --- entropy, calls, rows

let entropyFails = false;
let draws = false;
crypto.getRandomValues = (out) => {
  for (let i = 0; i < out.length; ++i) out[i] = chance(256);
  const is = draws || ["wake", "answer commit"].includes(steps.at(-1).do) ? "draw" : "system";
  hook("entropy", is, entropyFails ? "" : hex(out));
  if (entropyFails) throw new Error("no entropy");
  return out;
};
const asked = new Map(); // calls that wait, by id
const calling = []; // ids of calls whose request comes next
globalThis.fetch = (url, { body }) => new Promise((resolve, reject) => asked.set(calling.shift(), { method: url.split("/").at(-1), body, resolve, reject }));
let durable = new Map();
let waiting; // the commit
let opening = false; // commits stand at once
const keyOf = ({ table, cells }) => JSON.stringify([table, ...cells.slice(0, KEYS[table]).map(text)]);
function makeDurable(changes) {
  for (const change of changes) change.erased ? durable.delete(keyOf(change)) : durable.set(keyOf(change), change);
}
const store = {
  durable: true,
  keepMark: (mark) => (store.mark = mark),
  // Of a transaction the order of draws is that of leaving times, which a host does not hear.
  commit: (changes) => {
    const isDigest = ({ table, cells }) => table === KEPT && Buffer.from(cells[1].value).toString().startsWith("adopted ");
    const kept = mutant === "loses-digests" ? changes.filter((change) => !isDigest(change)) : mutant === "loses-debits" ? changes.filter(({ table }) => table !== LEDGER)
      : mutant === "loses-draws" && changes.some(({ table }) => table === DRAWN) ? [] : changes;
    const due = ({ table, erased, cells }) => (table === REPORTS && !erased ? Number(cells[5].value) : -1);
    for (const change of [...kept].sort((a, b) => due(a) - due(b))) {
      const { table, erased, cells } = change;
      erased ? hook("erase", TABLES[table], cells.slice(0, KEYS[table]).map(text)) : hook("put", TABLES[table], cells.map(text));
    }
    hook("commit", opening ? "stands" : "waits");
    if (opening) return Promise.resolve(makeDurable(kept));
    return new Promise((resolve) => (waiting = { kept, resolve }));
  },
};
const { imports, onCall } = Device.prototype;
Device.prototype.imports = function () {
  const made = imports.call(this);
  return {
    ...made,
    wake: (_, at) => {
      wake = at < 0n ? null : String(at);
      made.wake(_, at);
    },
    tell: (_, at) => {
      const { kind, code } = this.memory.read("result", at);
      if (TOLD[kind]) hook("told", TOLD[kind], code === 0 ? "OK" : String(code), ...(kind === 3 ? [0] : []));
      made.tell(_, at);
    },
  };
};
Device.prototype.onCall = function (at) {
  const call = this.memory.read("call", at);
  const id = Number(call.id);
  const body = this.memory.copy(call.body.data, call.body.size);
  hook("call", id, this.memory.literal(call.path).split("/").at(-1), hex(body.slice(5)), String(Number(call.deadline_ms) * 1e6), call.wait_for_ready === 1);
  calling.push(id);
  onCall.call(this, at);
};

if (mutant === "commits-early") {
  const { onCommit } = Device.prototype;
  Device.prototype.onCommit = function (at) {
    const { id } = this.memory.read("commit", at);
    onCommit.call(this, at);
    queueMicrotask(() => this.committed(id, 0));
  };
}
if (mutant === "ignores-entropy") {
  const { onRandom } = Device.prototype;
  Device.prototype.onRandom = function (...given) {
    onRandom.apply(this, given);
    return 0;
  };
}
if (mutant === "wakes-at-reactions") {
  const { report } = Device.prototype;
  Device.prototype.report = function (...given) {
    draws = true;
    this.c.bandana_wake(this.device);
    draws = false;
    return report.apply(this, given);
  };
}

if (mutant === "adopts-at-the-click") {
  const { report } = Device.prototype;
  Device.prototype.report = function (...given) {
    const answer = answers.pop();
    if (answer) this.adopt(client, "ann", answer).catch(() => {});
    return report.apply(this, given);
  };
}
if (mutant === "adopts-anything") {
  const { adopt } = Device.prototype;
  Device.prototype.adopt = function (of, user, answer) {
    return adopt.call(this, of, user, { ...answer, user, model: "fake", policyHash: HASH.toString("base64") });
  };
}

// --- the server

const recorded = JSON.parse(fs.readFileSync(path.join(vectors, "paths.1.json"))).paths[0];
const policyText = recorded.policy_text;
const HASH = createHash("sha256").update(policyText).digest();
const MODEL = recorded.steps.find(({ do: does, response }) => does === "answer" && response).response;
const varint = (n) => (n < 128 ? [n] : [(n % 128) + 128, ...varint(Math.floor(n / 128))]);
const block = (field, bytes) => [...varint(field * 8 + 2), ...varint(bytes.length), ...bytes];
const HALF = [0, 0, 0, 0, 0, 0, 0xe0, 0x3f];
let tokens = 0;
const RESPONSES = {
  GetModel: () => MODEL,
  Select: () => hex([...block(1, [0]), ...[3, 4, 5, 6].flatMap((field) => block(field, HALF)), ...block(7, Buffer.from(`token ${++tokens}`))]),
  Submit: (request) => hex(Array.from({ length: countOf(request, 3) }, () => block(1, [8, 1])).flat()),
};
function countOf(message, field) {
  let count = 0;
  const take = (at, shift = 1, sum = 0) => (message[at] < 128 ? [sum + message[at] * shift, at + 1] : take(at + 1, shift * 128, sum + (message[at] - 128) * shift));
  for (let at = 0; at < message.length;) {
    const [key, from] = take(at);
    const [size, begin] = take(from);
    count += key >> 3 === field ? 1 : 0;
    at = key % 8 === 2 ? begin + size : begin;
  }
  return count;
}
const frame = (kind, bytes) => [kind, ...[24, 16, 8, 0].map((shift) => (bytes.length >> shift) & 255), ...bytes];
async function answer(id, fails) {
  const { method, body, resolve, reject } = asked.get(id);
  asked.delete(id);
  if (fails) return step({ do: "answer", call: id, status: "UNAVAILABLE", pushback_ns: null }, () => reject(new Error("no network")));
  const response = RESPONSES[method](body.slice(5));
  const bytes = Uint8Array.from([...frame(0, Buffer.from(response, "hex")), ...frame(128, Buffer.from("grpc-status: 0\r\n"))]);
  return step({ do: "answer", call: id, response }, () => resolve({ status: 200, headers: [], arrayBuffer: async () => bytes.buffer }));
}
async function answerCommit() {
  const { kept, resolve } = waiting;
  waiting = undefined;
  makeDurable(kept);
  return step({ do: "answer commit", stands: true }, resolve);
}
async function answerAll() {
  for (let i = 0; i < 50 && (waiting || asked.size > 0); ++i) {
    if (waiting) await answerCommit();
    else await answer(asked.keys().next().value, chance(6) === 0 && asked.values().next().value.method === "Submit");
  }
}

// --- the application

let device;
let client;
let selections = [];
let copy; // of the rows, to be put back
let answers = []; // of a backend, which the page has
// As often as not it is an answer that was not made for this page, or not now.
function backendAnswer() {
  const { user = "ann", model = "fake", hash = HASH, hours = 0 } = [{}, {}, {}, {}, { user: "bob" }, { model: "other" }, { hash: Buffer.alloc(32) },
    { hours: 2 }, { hours: -2000 }][chance(9)];
  const halves = [0.5];
  const selection = { positions: [0], scores: halves, means: halves, widths: halves, propensities: halves, token: btoa(`backend ${++tokens}`) };
  return { user, model, policyHash: hash.toString("base64"), decidedMs: wallMs() + hours * 3_600_000, selection };
}
async function adopt(answer) {
  const { user, model, policyHash, decidedMs, selection } = answer;
  const written = { user, model, policy_hash: hex(Buffer.from(policyHash, "base64")), decided_ms: decidedMs, token: hex(Buffer.from(selection.token, "base64")) };
  const adopted = await step({ do: "adopt", user: "ann", answer: written }, () => device.adopt(client, "ann", answer));
  await answerAll();
  await adopted().then(({ handle }) => selections.push(handle), () => {});
}

async function open(what) {
  device = new Device(module, store, (url) => ({ url }));
  asked.clear();
  calling.length = 0;
  waiting = undefined;
  timer = undefined;
  wake = null;
  const rows = [...durable.values()].map(({ table, cells }) => ({ table, cells }));
  opening = true;
  const started = await step(what, () => device.start(rows, { mark: mutant === "forgets-the-mark" ? undefined : store.mark }));
  opening = false;
  await started();
  const connected = await step({ do: "connect" }, () => device.connect({ url: "http://host", model: "fake", leave: "when_due", policy: { epsilonMax: 2 } }));
  await answerAll();
  client = await connected();
}
async function advance(ms) {
  for (const end = elapsedMs + ms; ;) {
    if (!timer || timer.at > end) {
      elapsedMs = end;
      return;
    }
    const { run, at } = timer;
    timer = undefined;
    elapsedMs = Math.max(elapsedMs, Math.ceil(at));
    entropyFails = chance(8) === 0;
    await step({ do: "wake" }, run);
    await answerAll();
    entropyFails = false;
  }
}

await open({ do: "start" });
for (let round = 0; round < ROUNDS; ++round) {
  const act = chance(24);
  if (act < 6) {
    const selected = await step({ do: "select", user: "ann" }, () => device.select(client, "select", "ann", ARMS));
    await answerAll();
    selections.push((await selected()).handle);
  } else if (act < 12 && selections.length > 0) {
    const at = chance(selections.length);
    const reward = [0, 1, 0.25, 7][chance(4)];
    if (chance(4) === 0) elapsedMs += 25_000; // the page slept: its alarm is late
    await step({ do: "report", selection: at, reward: bitsOf(reward) }, () => device.report(client, selections[at], reward));
    await answerAll();
  } else if (act === 12) {
    device.free();
    const older = chance(3) === 0 && copy !== undefined && positionOf(copy) !== positionOf(durable);
    await open({ do: "crash and start", ...(older ? { rows: olderRows() } : {}) });
    if (older) selections = [];
  } else if (act > 19) {
    if (chance(5) === 0) await advance(3_700_000);
    if (answers.length === 0 || chance(3) > 0) answers.push(backendAnswer());
    await adopt(answers[chance(answers.length)]);
  } else {
    await advance(chance(6000));
  }
  if (chance(10) === 0) copy = new Map(durable);
}

function positionOf(rows) {
  const { cells } = [...rows.values()].find(({ table }) => table === STORE);
  return cells[POSITION].value;
}
function olderRows() {
  durable = new Map(copy);
  return [...durable.values()].map(({ table, cells }) => [TABLES[table], cells.map(text)]);
}
await advance(60_000);
console.log(JSON.stringify({ name: `${mutant} ${seed}`, policy_text: policyText, model: "fake", leave: "when_due", events_per_user_max: 0, epsilon_max: bitsOf(2),
  reports_per_delivery_max: 32, rows: [], steps }));
