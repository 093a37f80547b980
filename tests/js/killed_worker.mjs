// A device in a worker that stops for ever at one point, as if its page had been killed there: before or after a hook, or before the module hears
// what came of a commit or a call. `mutant`: a host that breaks a duty.
import { Device } from "/package/src/device.js";
import * as sdk from "/package/src/browser.js";

const HOOKS = ["call", "commit", "random", "wake", "mark", "tell"];
const [LEDGER, REPORTS, DRAWN] = [2, 3, 6]; // tables
const ARMS = [[1, 0], [0, 1]];
let points = 0;
let killAt = 0;

function point(name) {
  if (++points !== killAt) return;
  postMessage({ killed: name });
  for (;;);
}

const { imports, committed, answer, onCommit } = Device.prototype;
Device.prototype.imports = function () {
  const made = imports.call(this);
  for (const name of HOOKS) {
    const hook = made[name];
    made[name] = (...given) => {
      point(`before ${name}`);
      const value = hook(...given);
      point(`after ${name}`);
      return value;
    };
  }
  return made;
};
Device.prototype.committed = function (...given) {
  point("before committed");
  committed.apply(this, given);
};
Device.prototype.answer = function (...given) {
  point("before answer");
  answer.apply(this, given);
};
const fetched = self.fetch;
self.fetch = (url, options) => {
  if (String(url).endsWith("/Submit")) postMessage({ sent: Array.from(options.body) });
  return fetched(url, options);
};

// Some rows do not become durable.
function forget(kept) {
  Device.prototype.onCommit = function (at) {
    const { commit } = this.store;
    this.store.commit = (changes, more) => commit.call(this.store, kept(changes), more);
    onCommit.call(this, at);
    this.store.commit = commit;
  };
}

const MUTANTS = {
  none() {},
  // The commit is made, and said to stand before it does.
  early() {
    Device.prototype.onCommit = function (at) {
      const { id } = this.memory.read("commit", at);
      const { commit } = this.store;
      this.store.commit = (...given) => {
        setTimeout(() => commit.apply(this.store, given), 20);
        return Promise.resolve();
      };
      onCommit.call(this, at);
      this.store.commit = commit;
    };
  },
  unpaid: () => forget((changes) => changes.filter(({ table }) => table !== LEDGER)),
  unopened: () => forget((changes) => changes.filter(({ table }) => table !== REPORTS)),
  undrawn: () => forget((changes) => (changes.some(({ table }) => table === DRAWN) ? [] : changes)),
};

async function visit({ api, store, mutant, leave, recovers }) {
  MUTANTS[mutant]();
  const place = sdk.pageStore(store);
  const ownsIt = async () => {
    while (!(await navigator.locks.query()).held.some(({ name }) => name === `bandana ${place.name}`)) await new Promise((resolve) => setTimeout(resolve, 1));
    postMessage({ owns: true });
  };
  const connecting = sdk.connect({ url: api, model: "quick", store: place, policy: { epsilonMax: 2 }, leave, backoffMinMs: 1 });
  ownsIt();
  const client = await connecting;
  if (!recovers) {
    const shown = await client.select("ann", ARMS);
    postMessage({ told: 1 });
    await client.report(shown, 1);
    await client.select("ann", ARMS);
    postMessage({ told: 1 });
  }
  let stats;
  while ((stats = await client.stats()).reportsPending > 0) {
    await new Promise((resolve) => setTimeout(resolve, 60));
    await client.begin(); // a start, with leave "at_start"
  }
  const { events } = await client.spent("ann");
  await client.close();
  postMessage({ ended: { points, events, stats } });
}

self.onmessage = ({ data }) => {
  killAt = data.killAt;
  visit(data).catch((error) => postMessage({ failed: String(error) }));
};
