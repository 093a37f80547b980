// What an application sees: connect, and the client that it makes.
import { BandanaError } from "./error.js";
import { SharedStore } from "./owner.js";

const FALLBACK = Symbol("the application's own order, which is no decision");

// Events of people. One that is adopted because of them tells that there was a reaction.
const REACTIONS = ["UIEvent", "SubmitEvent", "ClipboardEvent"];
const PLAIN_REACTIONS = ["change", "reset", "scroll", "scrollend", "select", "toggle", "play", "pause", "seeking"]; // of class Event
const isReaction = (event) => event?.isTrusted
  && (PLAIN_REACTIONS.includes(event.type) || REACTIONS.some((kind) => event instanceof (globalThis[kind] ?? Array)));

/** One model's client. Methods reject with BandanaError. */
export class Client {
  #shared;
  #options;

  constructor(shared, options, model) {
    this.#shared = shared;
    this.#options = options;
    /** The model's public configuration, as checked against the policy. */
    this.model = model;
  }

  async select(user, arms, how = {}) {
    const { fallback, ...ranks } = how;
    if (fallback === undefined) return this.#select("select", user, arms, ranks);
    return this.#selectInTime(user, arms, ranks, fallback);
  }
  selectSlots(user, arms, slots) {
    return this.#select("slots", user, arms, { slots });
  }
  selectDeferred(user, arms, how) {
    return this.#select("deferred", user, arms, how);
  }
  selectOnDevice(user, arms, how) {
    return this.#select("onDevice", user, arms, how);
  }
  async activate(selection) {
    if (selection[FALLBACK]) return;
    await this.#ask("activate", selection.handle);
  }
  /** A decision that the page's backend fetched while it made the page. See index.d.ts. */
  async adopt(user, answer) {
    const { event } = globalThis;
    if (isReaction(event)) {
      throw new BandanaError("FAILED_PRECONDITION", `adopt must not be called in the handler of a ${event.type} event: it belongs to the load of the page`);
    }
    return this.#ask("adopt", user, answer);
  }
  async report(selection, reward, { shown } = {}) {
    if (selection[FALLBACK]) return;
    await this.#ask("report", selection.handle, reward ?? undefined, shown);
  }
  refreshPosterior(user) {
    return this.#ask("refreshPosterior", user);
  }
  async begin() {
    await this.#ask("begin");
  }
  /** False after the timeout. */
  async flush(timeoutMs = 10_000) {
    let timer;
    const late = new Promise((resolve) => (timer = setTimeout(resolve, timeoutMs, false)));
    const flushed = this.#ask("flush").then(() => true);
    return Promise.race([flushed, late]).finally(() => clearTimeout(timer));
  }
  spent(user) {
    return this.#ask("spent", user);
  }
  stats() {
    return this.#ask("stats");
  }
  close() {
    return this.#shared.close();
  }

  #ask(method, ...given) {
    return this.#shared.ask(method, [this.#options, ...given]);
  }
  #select(by, user, arms, how) {
    return this.#ask("select", by, user, arms, how);
  }
  // The decision that comes too late must be none: with a window it is deferred, and counts from its activation. Without one an answer that nobody
  // reports leaves nothing.
  async #selectInTime(user, arms, ranks, { afterMs, order }) {
    if (!(afterMs >= 0)) throw new BandanaError("INVALID_ARGUMENT", `fallback.afterMs must be at least 0, got ${afterMs}`);
    if (!Array.isArray(order)) throw new BandanaError("INVALID_ARGUMENT", "fallback.order must be a list of positions in the arms");
    const windows = this.model.rewardWindowMs !== null;
    const late = Symbol("late");
    let timer;
    const timeout = new Promise((resolve) => (timer = setTimeout(resolve, afterMs, late)));
    const asked = this.#select(windows ? "deferred" : "select", user, arms, ranks);
    asked.catch(() => {}); // heard below, or too late
    let selection;
    try {
      selection = await Promise.race([asked, timeout]);
    } catch (error) {
      if (!["UNAVAILABLE", "DEADLINE_EXCEEDED"].includes(error.status)) throw error;
      selection = late;
    } finally {
      clearTimeout(timer);
    }
    if (selection === late) return { arms: order.map((position) => ({ position })), [FALLBACK]: true, isFallback: true };
    if (windows) await this.activate(selection);
    return selection;
  }
}

/** `module`: a promise of the WebAssembly.Module. */
export async function connectWith(module, defaultStore, { url, token, store = defaultStore(), ...rest }) {
  if (typeof url !== "string" || !/^https?:\/\//.test(url)) throw new BandanaError("INVALID_ARGUMENT", `url must begin with http:// or https://, got ${url}`);
  if (token !== undefined && typeof token !== "function") throw new BandanaError("INVALID_ARGUMENT", "token must be a function that gives it");
  const options = { url: url.replace(/\/+$/, ""), ...rest };
  const shared = SharedStore.of(store, module);
  if (token) shared.tokens.set(options.url, token);
  try {
    return new Client(shared, options, await shared.ask("model", [options]));
  } catch (error) {
    await shared.close();
    throw error;
  }
}
