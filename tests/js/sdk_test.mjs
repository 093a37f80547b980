// The SDK for JavaScript under Node, against the server that node_test.py started.
import assert from "node:assert";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import http from "node:http";
import path from "node:path";
import test from "node:test";

const { BANDANA_PACKAGE, BANDANA_URL: url, BANDANA_FOLDER } = process.env;
const { connect, fileStore, memoryStore, BandanaError } = await import(path.join(BANDANA_PACKAGE, "src/node.js"));

const ARMS = [[1, 0], [0, 1]];
const POLICY = { epsilonMax: 2 };
const ANYTHING = { requireLocal: false, requireProven: false, epsilonMax: Infinity, deltaMax: 1, allowResearch: true };
let files = 0;

const storeFile = () => path.join(BANDANA_FOLDER, `device${++files}`);
const open = (model, more = {}) => connect({ url, model, store: fileStore(storeFile()), policy: POLICY, leave: "when_due", ...more });
const refusal = (status, message) => (error) => {
  assert(error instanceof BandanaError, String(error));
  assert.strictEqual(error.status, status, error.message);
  assert.match(error.message, message);
  return true;
};

async function applied(client, count) {
  for (const end = Date.now() + 20_000; ;) {
    await client.flush();
    const stats = await client.stats();
    if (stats.reportsApplied >= count) return stats;
    assert(Date.now() < end, JSON.stringify(stats));
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

for (const model of ["window", "centred"]) {
  test(`model ${model}: decisions are reported, reaction or not, and stay private`, async () => {
    const client = await open(model);
    assert.strictEqual(client.model.local, true);
    assert.strictEqual(client.model.epsilon, 2);
    assert.strictEqual(client.model.rewardWindowMs, 200);
    const shown = await client.select("ann", ARMS);
    assert.strictEqual(shown.arms.length, 1);
    await client.report(shown, 1);
    await client.select("ann", ARMS, { topK: 2, shown: 1 });
    const stats = await applied(client, 2);
    assert.strictEqual(stats.selections, 2);
    assert.strictEqual(stats.reportsDefaulted, 1);
    const spent = await client.spent("ann");
    assert.deepStrictEqual([spent.events, spent.epsilonEvent, spent.epsilonUser], [2, 2, 4]);
    await client.close();
  });
}

test("a report without a window leaves when it is made, and a repeat changes nothing", async () => {
  const client = await open("once");
  const shown = await client.select("ann", ARMS);
  assert.strictEqual((await client.spent("ann")).events, 0);
  await client.report(shown, 0.5);
  await client.report(shown, 1);
  await applied(client, 1);
  assert.strictEqual((await client.spent("ann")).events, 1);
  await client.close();
});

test("each slot is an event with a reward of its own", async () => {
  const client = await open("window");
  const slots = await client.selectSlots("ann", ARMS, 2);
  assert.strictEqual(slots.length, 2);
  assert.deepStrictEqual(slots.map(({ arms }) => arms[0].position).sort(), [0, 1]);
  await client.report(slots[1], 1);
  await applied(client, 2);
  assert.strictEqual((await client.spent("ann")).events, 2);
  await client.close();
});

test("a deferred decision counts from its activation", async () => {
  const client = await open("window");
  const [shown, dropped] = [await client.selectDeferred("ann", ARMS), await client.selectDeferred("ann", ARMS)];
  assert.strictEqual((await client.spent("ann")).events, 0);
  await assert.rejects(client.report(dropped, 1), refusal("FAILED_PRECONDITION", /defer/));
  await client.activate(shown);
  await client.activate(shown);
  assert.strictEqual((await client.spent("ann")).events, 1);
  await client.report(shown, 1);
  await applied(client, 1);
  await client.close();
});

// As a backend does while it makes a page.
async function backendAnswer(model, user, more = {}) {
  const at = `${url}/v1/models/${model}`;
  const { policyHash } = await (await fetch(at)).json();
  const arms = { inlineArms: { features: ARMS.flat() } };
  const response = await fetch(`${at}:select`, { method: "POST", body: JSON.stringify({ user, arms, topK: 2, shown: 1, policyHash, ...more }) });
  const selection = await response.json();
  assert.strictEqual(response.status, 200, JSON.stringify(selection));
  return { user, model, policyHash, shown: 1, decidedMs: Date.now(), selection };
}

for (const model of ["window", "centred"]) {
  test(`model ${model}: a decision that a backend fetched is adopted once`, async () => {
    const client = await open(model);
    const answer = await backendAnswer(model, "ann");
    const shown = await client.adopt("ann", answer);
    assert.deepStrictEqual(shown.arms.map(({ position }) => position), answer.selection.positions);
    assert.strictEqual((await client.spent("ann")).events, 1);
    await client.report(shown, 1);
    await assert.rejects(client.adopt("ann", answer), refusal("FAILED_PRECONDITION", /answer.token was adopted before/));
    const stats = await applied(client, 1);
    assert.deepStrictEqual([stats.selections, stats.reportsDefaulted, stats.reportsPending], [1, 0, 0]);
    await client.close();
  });
}

test("an answer is refused by its field, and in the handler of a reaction", async () => {
  const client = await open("window");
  const answer = await backendAnswer("window", "ann");
  const { selection } = answer;
  const bad = (change, message, status = "INVALID_ARGUMENT") => assert.rejects(client.adopt("ann", { ...answer, ...change }), refusal(status, message));
  await bad({ user: "bob" }, /answer.user is another user/);
  await bad({ user: 1 }, /answer.user must be a text/);
  await bad({ model: "centred" }, /answer.model must be window/);
  await bad({ policyHash: "AAAA" }, /answer.policy_hash is not that of the policy/);
  await bad({ policyHash: "?" }, /answer.policyHash must be base64/);
  await bad({ decidedMs: "now" }, /answer.decidedMs must be a whole number/);
  await bad({ decidedMs: Date.now() - 90_000_000 }, /the decision is too old/, "FAILED_PRECONDITION");
  await bad({ shown: 2 }, /answer.shown must be in \[0, 2\)/);
  await bad({ selection: undefined }, /answer.selection.token must be a text/);
  await bad({ selection: { ...selection, scores: [1] } }, /answer.selection: its lists must have 2 entries/);
  await bad({ selection: { ...selection, rewardWindows: [0, 1] } }, /answer.reward_windows must have 0 numbers/);
  globalThis.UIEvent = class {};
  globalThis.event = Object.assign(new UIEvent(), { type: "click", isTrusted: true });
  await bad({}, /adopt must not be called in the handler of a click event/, "FAILED_PRECONDITION");
  globalThis.event = { type: "change", isTrusted: true };
  await bad({}, /adopt must not be called in the handler of a change event/, "FAILED_PRECONDITION");
  delete globalThis.event;
  delete globalThis.UIEvent;
  assert.strictEqual((await client.spent("ann")).events, 0);
  await client.adopt("ann", answer);
  await client.close();
});

test("the device ranks by a posterior that it fetched", async () => {
  const client = await open("once");
  await assert.rejects(client.selectOnDevice("ann", ARMS), refusal("FAILED_PRECONDITION", /no posterior/));
  assert.strictEqual(await client.refreshPosterior("ann"), true);
  const shown = await client.selectOnDevice("ann", ARMS);
  assert.strictEqual(shown.arms.length, 1);
  await client.report(shown, 1);
  await applied(client, 1);
  await client.close();
});

test("arms have names, values, a context and rules", async () => {
  const client = await open("named", { policy: ANYTHING });
  const named = [
    { id: "a", features: { genre: "news", price: 3 } },
    { id: "b", features: { genre: "sport", price: 9 } },
  ];
  const shown = await client.select("ann", { named, context: { hour: 7 } }, { topK: 2 });
  assert.deepStrictEqual(shown.arms.map(({ name }) => name).sort(), ["a", "b"]);
  await client.report(shown, 1);
  await applied(client, 1);
  named[0].features.colour = "red";
  await assert.rejects(client.select("ann", { named }), refusal("INVALID_ARGUMENT", /arms\[0\].features."colour"/));
  await assert.rejects(client.select("ann", { named, context: { hour: {} } }), refusal("INVALID_ARGUMENT", /arms.context.hour must be/));
  await assert.rejects(client.select("ann", { ids: [1], rules: { pins: [{ id: 1, rank: 0 }] } }), BandanaError);
  await client.close();
});

test("a user's events come to an end", async () => {
  const client = await open("few");
  await client.select("ann", ARMS);
  await client.select("ann", ARMS);
  await assert.rejects(client.select("ann", ARMS), refusal("RESOURCE_EXHAUSTED", /events_per_user_max is 2/));
  await client.select("bob", ARMS);
  await client.close();
});

test("models are refused that are weaker than the policy, or are not in the module", async () => {
  await assert.rejects(open("raw"), refusal("FAILED_PRECONDITION", /weaker than the application's policy/));
  await assert.rejects(open("window", { policy: { epsilonMax: 1 } }), refusal("FAILED_PRECONDITION", /epsilon/));
  await assert.rejects(open("counter", { policy: ANYTHING }), refusal("INVALID_ARGUMENT", /COUNTER is not in the WebAssembly module/));
  await assert.rejects(open("contexts", { policy: ANYTHING }), refusal("INVALID_ARGUMENT", /PRIVUNIT is not in the WebAssembly module/));
  await assert.rejects(open("nobody"), refusal("NOT_FOUND", /nobody/));
  await assert.rejects(open("window", { store: memoryStore() }), refusal("FAILED_PRECONDITION", /durable/));
  await assert.rejects(open("central", { policy: ANYTHING, leave: "at_start" }), refusal("FAILED_PRECONDITION", /leave|start/i));
});

test("bad options are named", async () => {
  await assert.rejects(open("raw", { url: "ftp://x" }), refusal("INVALID_ARGUMENT", /url must begin/));
  await assert.rejects(open("raw", { leave: "soon" }), refusal("INVALID_ARGUMENT", /leave must be/));
  await assert.rejects(open("raw", { token: "text" }), refusal("INVALID_ARGUMENT", /token must be a function/));
  await assert.rejects(open("raw", { policy: { epsilonMax: NaN } }), refusal("INVALID_ARGUMENT", /epsilon_max/));
  await assert.rejects(connect({ url, model: "raw" }), refusal("INVALID_ARGUMENT", /store is needed/));
  await assert.rejects(open("raw", { store: fileStore(storeFile(), { key: new Uint8Array(3) }) }), refusal("INVALID_ARGUMENT", /store.key must have 32 bytes/));
  const client = await open("raw", { policy: ANYTHING });
  await assert.rejects(client.select("ann", 5), refusal("INVALID_ARGUMENT", /arms must be/));
  await assert.rejects(client.select("ann", [[1]]), refusal("INVALID_ARGUMENT", /features/));
  await assert.rejects(client.select("", ARMS), refusal("INVALID_ARGUMENT", /user/));
  await assert.rejects(client.select("ann", ARMS, { fallback: { afterMs: -1, order: [0] } }), refusal("INVALID_ARGUMENT", /fallback.afterMs/));
  await client.close();
  await assert.rejects(client.select("ann", ARMS), refusal("CANCELLED", /closed/));
});

test("reports leave at the next start, by default", async () => {
  const file = storeFile();
  const start = () => connect({ url, model: "window", store: fileStore(file), policy: POLICY });
  let client = await start();
  const shown = await client.select("ann", ARMS);
  await client.report(shown, 1);
  await new Promise((resolve) => setTimeout(resolve, 400));
  assert.strictEqual((await client.stats()).deliveryAttempts, 0);
  await client.close();
  await new Promise((resolve) => setTimeout(resolve, 300));
  client = await start();
  await applied(client, 1);
  assert.strictEqual((await client.spent("ann")).events, 1);
  await client.close();
});

test("a file is private, has one owner, and is refused when it was changed", async () => {
  const file = storeFile();
  const start = (more = {}) => connect({ url, model: "window", store: fileStore(file, more), policy: POLICY, leave: "when_due" });
  const client = await start();
  await client.select("a-user-whose-name-is-sealed", ARMS);
  await assert.rejects(() => import(path.join(BANDANA_PACKAGE, "src/file.js")).then(({ fileStore }) => fileStore(file).open()),
    refusal("UNAVAILABLE", /is open in this process already/));
  const other = `import {connect, fileStore} from ${JSON.stringify(path.join(BANDANA_PACKAGE, "src/node.js"))};
    await connect({url: "${url}", model: "window", store: fileStore(${JSON.stringify(file)})}).catch((e) => console.log(e.message)); process.exit(0);`;
  assert.match(execFileSync(process.execPath, ["--input-type=module", "-e", other]).toString(), new RegExp(`is open in process ${process.pid}`));
  await client.close();
  const bytes = fs.readFileSync(file);
  assert.strictEqual(fs.statSync(file).mode & 0o777, 0o600);
  assert(!bytes.includes("a-user-whose-name-is-sealed"));
  await assert.rejects(start({ key: new Uint8Array(32) }), refusal("DATA_LOSS", /another key/));
  bytes[bytes.length - 20] ^= 1;
  fs.writeFileSync(file, bytes);
  await assert.rejects(start(), refusal("DATA_LOSS", /is damaged/));
  fs.rmSync(file);
  await assert.rejects(start(), refusal("DATA_LOSS", /another store than the host's mark/));
});

test("a process that waited for the file is not noticed, and at starts no connection is kept", async () => {
  const file = storeFile();
  const headers = [];
  const proxy = http.createServer((request, response) => {
    headers.push(request.headers.connection);
    const sent = http.request(`${url}${request.url}`, { method: "POST", headers: { ...request.headers, host: new URL(url).host } }, (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    });
    request.pipe(sent);
  });
  await new Promise((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  const there = `http://127.0.0.1:${proxy.address().port}`;
  const connectAt = async (address, leave) => (await connect({ url: address, model: "window", store: fileStore(file), policy: POLICY, leave, connectTimeoutMs: 300 })).close();
  await connectAt(there, "at_start");
  assert.deepStrictEqual(headers, ["close"]);
  await connectAt(there, "when_due");
  assert.deepStrictEqual(headers.slice(1), ["keep-alive"]);
  proxy.close();
  proxy.closeAllConnections();
  await assert.rejects(connectAt(there, "at_start"), refusal("UNAVAILABLE", /./));
  fs.writeFileSync(`${path.resolve(file)}.lock`, String(process.ppid));
  await assert.rejects(connectAt(there, "at_start"), refusal("UNAVAILABLE", /is open in process/));
  fs.rmSync(`${path.resolve(file)}.lock`);
  await connectAt(there, "at_start"); // it knows the model without asking
  await assert.rejects(connectAt(there, "at_start"), refusal("UNAVAILABLE", /./));
});

test("an older copy of the file is noticed and charged", async () => {
  const file = storeFile();
  const start = () => connect({ url, model: "window", store: fileStore(file), policy: POLICY, leave: "when_due" });
  let client = await start();
  await client.close();
  const older = fs.readFileSync(file);
  client = await start();
  await client.select("ann", ARMS);
  await client.close();
  fs.writeFileSync(file, older);
  client = await start();
  assert.strictEqual((await client.spent("bob")).events, 1);
  await client.close();
});

// A server that keeps Select back until it is let go, and the methods that it was asked for since then.
async function slowServer() {
  const held = [];
  const asked = [];
  const server = http.createServer((request, response) => {
    const chunks = [];
    request.on("data", (chunk) => chunks.push(chunk)).on("end", async () => {
      const method = request.url.split("/").at(-1);
      asked.push(method);
      if (method === "Select") await new Promise((resolve) => held.push(resolve));
      const answer = await fetch(url + request.url, { method: "POST", headers: { "content-type": request.headers["content-type"] }, body: Buffer.concat(chunks) });
      response.writeHead(answer.status, { "content-type": "application/grpc-web+proto" }).end(Buffer.from(await answer.arrayBuffer()));
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    asked,
    letGo: () => held.splice(0).forEach((resolve) => resolve()),
    isHolding: async () => {
      while (held.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    },
    close: () => {
      server.close();
      server.closeAllConnections?.();
    },
  };
}

for (const [model, closedByServer, debits] of [["window", false, 1], ["central", true, 0], ["raw-window", true, 0]]) {
  test(`model ${model}: the application's own order comes when the server is late, and is no decision`, async () => {
    const slow = await slowServer();
    const client = await open(model, { url: slow.url, policy: ANYTHING });
    slow.asked.length = 0;
    const shown = await client.select("ann", ARMS, { fallback: { afterMs: 20, order: [1, 0] } });
    assert.deepStrictEqual(shown.arms.map(({ position }) => position), [1, 0]);
    assert.strictEqual(shown.isFallback, true);
    await client.report(shown, 1);
    await client.activate(shown);
    slow.letGo();
    await new Promise((resolve) => setTimeout(resolve, 500));
    const stats = await client.stats();
    assert.deepStrictEqual([stats.reportsQueued, stats.reportsPending, stats.deliveryAttempts], [0, 0, 0]);
    assert.strictEqual((await client.spent("ann")).events, 0);
    assert.deepStrictEqual(slow.asked, ["Select"]);
    const asking = client.select("ann", ARMS, { fallback: { afterMs: 10_000, order: [1, 0] } });
    await slow.isHolding();
    slow.letGo();
    const answered = await asking;
    assert.strictEqual(answered.isFallback, undefined);
    assert.strictEqual((await client.spent("ann")).events, debits);
    await client.report(answered, 1);
    const end = await applied(client, 1);
    assert.strictEqual(end.reportsRejected, 0);
    assert.deepStrictEqual(slow.asked, ["Select", "Select", ...(closedByServer ? ["Activate", "Report"] : ["Submit"])]);
    await client.close();
    slow.close();
  });
}

test("a store that fails has no decision, and the client says so", async () => {
  const { open: opened, name } = fileStore(storeFile());
  let fails = false;
  const store = {
    name,
    open: async () => {
      const real = await opened();
      const commit = real.commit.bind(real);
      real.commit = (changes) => (fails ? Promise.reject(new Error("the disk is full")) : commit(changes));
      return real;
    },
  };
  const client = await open("window", { store });
  fails = true;
  await assert.rejects(client.select("ann", ARMS), refusal("UNAVAILABLE", /the commit failed/));
  fails = false;
  assert.strictEqual((await client.spent("ann")).events, 0);
  await client.select("ann", ARMS);
  await client.close();
});

test("a row opens where it was sealed, and nowhere else", async () => {
  const { Sealer, poly1305 } = await import(path.join(BANDANA_PACKAGE, "src/seal.js"));
  const hex = (text) => Uint8Array.from(Buffer.from(text, "hex"));
  // RFC 8439, 2.5.2.
  assert.deepStrictEqual(poly1305(hex("85d6be7857556d337f4452fe42d506a80103808afb0db2fd4abff6af4149f51b"), Buffer.from("Cryptographic Forum Research Group")),
    hex("a8061dc1305136c6c22b8baf0c0127a9"));
  const sealer = new Sealer(await Sealer.makeKey());
  const name = Uint8Array.of(3, 0, 7);
  for (const size of [0, 1, 16, 1024, 5000]) {
    const row = () => new Uint8Array(size).fill(65);
    const seals = [await sealer.seal(name, row()), await sealer.seal(name, row())];
    assert.notDeepStrictEqual(seals[0], seals[1]);
    for (const sealed of seals) {
      assert.deepStrictEqual(await sealer.open(name, sealed), row());
      assert.strictEqual(await sealer.open(Uint8Array.of(3, 0, 8), sealed), undefined);
      assert.strictEqual(await sealer.open(name, sealed.subarray(0, -1)), undefined);
      for (const at of [0, 12, sealed.length - 1]) {
        sealed[at] ^= 1;
        assert.strictEqual(await sealer.open(name, sealed), undefined);
        sealed[at] ^= 1;
      }
    }
  }
});
