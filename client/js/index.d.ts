// The SDK for JavaScript. docs/sdk.md is the guide; units are in the names, rewards in the model's units.

/** The least privacy that the application accepts; connect refuses a model that is weaker in any point. */
export interface Policy {
  /** Rewards must be randomized on the device. Default true. */
  requireLocal?: boolean;
  /** Only mechanisms with a proof. Default true. */
  requireProven?: boolean;
  allowResearch?: boolean;
  /** Most that an event may cost. Default 2. */
  epsilonMax?: number;
  /** Default 0. */
  deltaMax?: number;
  /** Most events per user of this store; 0: only the model's own bound. */
  eventsPerUserMax?: number;
}

/** Where the device keeps its rows. One tab, or one process, has a store at a time. */
export interface Store {
  readonly name: string;
  open(): Promise<unknown>;
}
/** In IndexedDB, sealed under a key that cannot be exported. The default of pages. */
export function pageStore(name?: string): Store;
/** In a file, sealed by `key` (32 bytes) or by a key of its own in FILE.key. Node alone. */
export function fileStore(file: string, options?: { key?: Uint8Array }): Store;
/** Nothing is kept: models that are local refuse it. */
export function memoryStore(name?: string): Store;

export interface ConnectOptions {
  /** Of the server's API listener: "https://host:port". */
  url: string;
  model: string;
  /** pageStore() in pages; needed in Node. */
  store?: Store;
  policy?: Policy;
  /** Gives the bearer token of each request, so that it may change. */
  token?: () => string | undefined | Promise<string | undefined>;
  /** When reports leave: at connect and begin alone, or when they are due, which promises that this page outlives reactions. A model whose
   * windows the server closes needs "when_due" in so many words. Default "at_start". */
  leave?: "at_start" | "when_due";
  /** Where the WebAssembly module lies. Default: beside this package's files. */
  wasm?: string | URL;
  whenFull?: "block" | "drop";
  queueReportsMax?: number;
  deliveriesInFlightMax?: number;
  reportsPerDeliveryMax?: number;
  selectDeadlineMs?: number;
  reportDeadlineMs?: number;
  connectTimeoutMs?: number;
  backoffMinMs?: number;
  backoffMaxMs?: number;
  posteriorIntervalMs?: number;
  armEffectsTag?: string;
}

export type Value = number | boolean | string | string[] | number[];
export type Features = Record<string, Value>;

export interface Rules {
  where?: { field: string; min?: number; max?: number; above?: number; below?: number }[];
  boosts?: { tag?: string; id?: number; name?: string; group?: string; value?: string; add: number }[];
  pins?: { id?: number; name?: string; rank: number }[];
  atMost?: { group?: string; tag?: string; count: number }[];
  excludeSeen?: { seen: "shown" | "rewarded"; withinMs?: number };
}

interface InContext {
  /** Values of the schema's context fields. */
  context?: Features;
  rules?: Rules;
}
export type Arms =
  | number[][]
  | (InContext & { features: number[][]; ids?: number[] })
  | (InContext & { ids: number[] })
  | (InContext & { names: string[] })
  | (InContext & { query: { tagsAny?: string[]; tagsAll?: string[]; tagsNone?: string[]; excludedIds?: number[]; excludedNames?: string[] } })
  | (InContext & { named: { id: string; features: Features }[] });

export interface Ranks {
  /** Ranks that are shown, [1, 100]. Default 1. */
  topK?: number;
  /** The rank whose reward counts; 0 is the best. */
  shown?: number;
}
export interface Fallback {
  /** How long the application waits for the server. */
  afterMs: number;
  /** Its own order, as positions in the arms. It is no decision: nothing is debited, and activate and report do nothing. A selection that
   * comes in time is activated before it is returned. */
  order: number[];
}

export interface RankedArm {
  position: number;
  id: number;
  name: string;
  score: number;
  mean: number;
  width: number;
  propensity: number;
}
/** Keep it until its reward is reported; it may be stored, or sent to another tab. */
export interface Selection {
  /** Best first. */
  arms: RankedArm[];
  handle: Uint8Array;
  posteriorVersion: number;
  point: number[];
  /** Errors in named values. */
  notes: string[];
}
/** A decision that a backend fetched: `POST /v1/models/NAME:select` with `policyHash`, while it made this user's page. The page is personal: send
 * it with `cache-control: no-store`. */
export interface BackendAnswer {
  /** The request's. */
  user: string;
  model: string;
  /** The request's, base64: that of `GET /v1/models/NAME`. */
  policyHash: string;
  /** The request's rank that is shown; default 0. */
  shown?: number;
  /** When the answer came, by the backend's clock, ms since 1970. */
  decidedMs: number;
  /** The answer, as JSON.parse reads it. */
  selection: Record<string, unknown>;
}
/** The application's own order: only positions are there. */
export interface OwnOrder {
  arms: { position: number }[];
  isFallback: true;
}

export interface ModelInfo {
  name: string;
  link: string;
  guarantee: string;
  mechanism: string;
  dimension: number;
  rewardBinary: boolean;
  local: boolean;
  localContext: boolean;
  featureL2Max: number;
  rewardMin: number;
  rewardMax: number;
  epsilon: number;
  delta: number;
  defaultReward: number;
  eventsPerUserMax: number;
  rewardWindowMs: number | null;
  tokenLifetimeMs: number;
}
export interface Spent {
  /** Of any one event: the largest. */
  epsilonEvent: number;
  deltaEvent: number;
  events: number;
  streams: number;
  /** Of all events of the user together. */
  epsilonUser: number;
}
export type Stats = Record<
  | "selections" | "reportsQueued" | "reportsDefaulted" | "reportsApplied" | "reportsDuplicate" | "reportsExpired" | "reportsOvertaken"
  | "reportsRejected" | "reportsDropped" | "reportsPending" | "deliveryAttempts" | "rewardsClipped" | "streamsEnded" | "valuesEncoded"
  | "valuesMissing" | "valuesUnknown" | "valuesOutOfBounds", number>;

/** `status` is gRPC's name of the code. The message names the field, and never a reward. */
export class BandanaError extends Error {
  readonly code: number;
  readonly status: string;
  readonly detail: string;
}

/** Every method rejects with BandanaError. */
export interface Client {
  readonly model: ModelInfo;
  select(user: string, arms: Arms, how?: Ranks): Promise<Selection>;
  select(user: string, arms: Arms, how: Ranks & { fallback: Fallback }): Promise<Selection | OwnOrder>;
  /** As many decisions of one arm each, each with a reward of its own. */
  selectSlots(user: string, arms: Arms, slots: number): Promise<Selection[]>;
  /** No decision before activate, which comes when it is shown and never follows a reaction. */
  selectDeferred(user: string, arms: Arms, how?: Ranks): Promise<Selection>;
  activate(selection: Selection | OwnOrder): Promise<void>;
  /** A decision that the backend fetched becomes this device's and counts from now on, once per store. When the page loads: it is refused in the
   * handler of a reaction, and must never follow from one. Makes no call. Local models with a reward window. */
  adopt(user: string, answer: BackendAnswer): Promise<Selection>;
  /** Ranks here, by what refreshPosterior fetched. */
  selectOnDevice(user: string, arms: Arms, how?: Ranks): Promise<Selection>;
  refreshPosterior(user: string): Promise<boolean>;
  /** Resolves when the reaction is durable. Missing and NaN mean the default reward. */
  report(selection: Selection | OwnOrder, reward?: number | null, how?: { shown?: number }): Promise<void>;
  /** The application comes to the front: with leave "at_start" this is a start. */
  begin(): Promise<void>;
  /** Whether everything that is due was answered within the time; default 10,000 ms. */
  flush(timeoutMs?: number): Promise<boolean>;
  spent(user: string): Promise<Spent>;
  stats(): Promise<Stats>;
  close(): Promise<void>;
}

export function connect(options: ConnectOptions): Promise<Client>;
