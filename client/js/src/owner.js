// Who has a store: one tab at a time. It runs the device; other tabs of the page's origin ask it.
import { Device } from "./device.js";
import { BandanaError } from "./error.js";

// Methods that other tabs ask for, with what they are given.
const METHODS = {
  select: (owner, [options, by, user, arms, how]) => owner.with(options, (device, client) => device.select(client, by, user, arms, how)),
  activate: (owner, [options, handle]) => owner.with(options, (device, client) => device.activate(client, handle)),
  adopt: (owner, [options, user, answer]) => owner.with(options, (device, client) => device.adopt(client, user, answer)),
  report: (owner, [options, handle, reward, shown]) => owner.with(options, async (device, client) => {
    await device.report(client, handle, reward, shown);
  }),
  refreshPosterior: (owner, [options, user]) => owner.with(options, (device, client) => device.refreshPosterior(client, user)),
  spent: (owner, [options, user]) => owner.with(options, (device, client) => device.spent(client, user)),
  begin: (owner, [options]) => owner.with(options, (device, client) => device.begin(client)),
  flush: (owner, [options]) => owner.with(options, async (device, client) => {
    await device.flush(client);
  }),
  stats: (owner, [options]) => owner.with(options, (device, client) => device.stats(client)),
  model: (owner, [options]) => owner.with(options, (device, client) => device.model(client)),
};

/** The device of a store that is this tab's, and its clients by their options. */
class Owner {
  constructor(device) {
    this.device = device;
    this.clients = new Map();
  }
  async with(options, body) {
    // Infinity and NaN differ here, in JSON they do not.
    const name = JSON.stringify(options, (_, value) => (typeof value === "number" ? String(value) : value));
    if (!this.clients.has(name)) this.clients.set(name, this.device.connect(options));
    let client;
    try {
      client = await this.clients.get(name);
    } catch (error) {
      this.clients.delete(name);
      throw error;
    }
    return (await body(this.device, client)) ?? null;
  }
}

async function makeOwner(shared, takenOver) {
  const store = await shared.place.open();
  try {
    const rows = await store.rows();
    const device = new Device(await shared.module, store, (target) => ({ url: target, token: shared.tokens.get(target) }));
    await device.start(rows, { mark: store.mark, takenOver: takenOver || store.takenOver === true });
    return { owner: new Owner(device), close: () => (device.free(), store.close()) };
  } catch (error) {
    store.close();
    throw error;
  }
}

// Stores of this tab, by name. All clients of a store share one device.
const stores = new Map();

export class SharedStore {
  static of(place, module) {
    const shared = stores.get(place.name) ?? new SharedStore(place, module);
    stores.set(place.name, shared);
    ++shared.users;
    return shared;
  }

  constructor(place, module) {
    this.place = place;
    this.module = module;
    this.users = 0;
    this.tokens = new Map(); // callbacks, by url
    this.asked = new Map(); // requests to the owner in another tab, by id
    this.requests = 0;
    this.id = crypto.randomUUID();
    if (globalThis.navigator?.locks && globalThis.BroadcastChannel && place.tabs) {
      this.askOthers();
    } else {
      this.mine = makeOwner(this, false);
      this.mine.catch(() => {});
    }
  }

  askOthers() {
    const name = `bandana ${this.place.name}`;
    this.channel = new BroadcastChannel(name);
    this.channel.onmessage = ({ data }) => this.onMessage(data);
    let waited = true;
    const isOwner = (lock) => {
      if (!lock) return undefined;
      waited = false;
      return this.own(false);
    };
    // At once where nobody has it; else when its tab is gone.
    navigator.locks.request(name, { ifAvailable: true }, isOwner).then(() => {
      if (waited && !this.closed) navigator.locks.request(name, { signal: this.abort().signal }, () => this.own(true)).catch(() => {});
    });
  }
  abort() {
    this.aborter ??= new AbortController();
    return this.aborter;
  }
  // Holds the lock as long as the promise that it returns.
  async own(takenOver) {
    if (this.closed) return;
    this.mine = makeOwner(this, takenOver);
    this.mine.catch(() => {});
    this.channel.postMessage({ owner: this.id });
    // What the owner before this one was asked for and did not answer.
    for (const { method, given, resolve, reject } of this.asked.values()) this.run(method, given).then(resolve, reject);
    this.asked.clear();
    await new Promise((resolve) => (this.release = resolve));
  }

  /** Runs a method of METHODS here, or in the tab that has the store. */
  async ask(method, given) {
    if (this.closed) throw new BandanaError("CANCELLED", "the client is closed");
    if (this.mine) return this.run(method, given);
    return new Promise((resolve, reject) => {
      const id = `${this.id} ${++this.requests}`;
      this.asked.set(id, { method, given, resolve, reject });
      this.channel.postMessage({ id, method, given });
    });
  }
  async run(method, given) {
    const { owner } = await this.mine;
    return METHODS[method](owner, given);
  }
  async onMessage({ id, method, given, owner, answer, error }) {
    if (owner) {
      // Another tab has the store now: it hears again what nobody answered.
      for (const [asked, request] of this.asked) this.channel.postMessage({ id: asked, method: request.method, given: request.given });
    } else if (method) {
      if (!this.mine || !Object.hasOwn(METHODS, method)) return;
      try {
        this.channel.postMessage({ id, answer: await this.run(method, given) });
      } catch (thrown) {
        this.channel.postMessage({ id, error: { code: thrown.code ?? 13, detail: thrown.detail ?? String(thrown) } });
      }
    } else if (this.asked.has(id)) {
      const { resolve, reject } = this.asked.get(id);
      this.asked.delete(id);
      error ? reject(new BandanaError(error.code, error.detail)) : resolve(answer);
    }
  }

  /** The last client that closes lets go of the store. */
  async close() {
    if (--this.users > 0) return;
    this.closed = true;
    stores.delete(this.place.name);
    this.aborter?.abort();
    for (const { reject } of this.asked.values()) reject(new BandanaError("CANCELLED", "the client is closed"));
    const mine = await this.mine?.catch(() => undefined);
    mine?.close();
    this.channel?.close();
    this.release?.();
  }
}
