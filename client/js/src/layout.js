// The structs of bandana.h in the memory of the WebAssembly module, where pointers and sizes have 4 bytes.

// Field types: p pointer or size, i int32, u uint32, q 64 bits, d double, b bandana_bytes, a pointer and count.
const BYTES = { p: 4, i: 4, u: 4, q: 8, d: 8, b: 8, a: 8 };
const ALIGNED = { p: 4, i: 4, u: 4, q: 8, d: 8, b: 4, a: 4 };

function layout(text) {
  const fields = [];
  let size = 0;
  let aligned = 4;
  for (const field of text.split(/\s+/)) {
    const [name, type] = field.split(":");
    aligned = Math.max(aligned, ALIGNED[type]);
    size = Math.ceil(size / ALIGNED[type]) * ALIGNED[type];
    fields.push({ name, type, at: size });
    size += BYTES[type];
  }
  return { fields, size: Math.ceil(size / aligned) * aligned };
}

const STATS = ["selections", "reports_queued", "reports_defaulted", "reports_applied", "reports_duplicate", "reports_expired", "reports_overtaken",
  "reports_rejected", "reports_dropped", "reports_pending", "delivery_attempts", "rewards_clipped", "streams_ended", "values_encoded",
  "values_missing", "values_unknown", "values_out_of_bounds"];

export const LAYOUTS = {
  cell: layout("kind:i reserved:i integer:q real:d bytes:b"),
  table: layout("size:p name:p names:p kinds:p columns:i keys:i sealed:i empty_in_clear:i digested:i"),
  change: layout("table:i erased:i cells:a"),
  commit: layout("size:p id:q changes:a erased_private:i"),
  start: layout("size:p durable:i taken_over:i seen:p"),
  header: layout("name:p value:p"),
  call: layout("size:p id:q path:p headers:a body:b deadline_ms:q wait_for_ready:i keep_connection:i target:b"),
  answer: layout("size:p http_status:i headers:a body:b"),
  arm: layout("position:i id:u score:d mean:d width:d propensity:d name:b"),
  selection: layout("handle:b posterior_version:q arms:a point:a notes:a"),
  spent: layout("epsilon_event:d delta_event:d events:q streams:q epsilon_user:d"),
  result: layout("size:p tag:q kind:i code:i message:b client:u value:i selections:a spent:p readings:p streams:a"),
  options: layout("size:p target:b model:b require_local:i require_proven:i allow_research:i leave:i epsilon_max:d delta_max:d events_per_user_max:q "
    + "when_full:i queue_reports_max:i deliveries_in_flight_max:i reports_per_delivery_max:i select_deadline_ms:q report_deadline_ms:q "
    + "connect_timeout_ms:q backoff_min_ms:q backoff_max_ms:q posterior_interval_ms:q arm_effects_tag:b"),
  value: layout("name:b kind:i reserved:i number:d text:b texts:p numbers:p count:p"),
  named: layout("id:b values:a"),
  range: layout("field:b min:d max:d above:d below:d"),
  boost: layout("tag:b name:b group:b value:b has_id:i id:u add:d"),
  pin: layout("name:b has_id:i id:u rank:i reserved:i"),
  limit: layout("group:b tag:b count:i reserved:i"),
  rules: layout("size:p where:a boosts:a pins:a at_most:a exclude_seen:i reserved:i seen_within_ms:q"),
  arms: layout("size:p form:i reserved:i features:a ids:a names:a named:a tags_any:a tags_all:a tags_none:a excluded_ids:a excluded_names:a "
    + "context:a rules:p"),
  request: layout("size:p by:i top_k:i shown:i slots:i user:b arms:p"),
  backend_answer: layout("size:p user:b model:b policy_hash:b decided_ms:q shown:i reserved:i posterior_version:q arms:a reward_windows:a token:b"),
  report: layout("size:p handle:b reward:d has_shown:i shown:i"),
  model: layout("size:p name:b link:b guarantee:b mechanism:b dimension:i reward_binary:i local:i local_context:i feature_l2_max:d reward_min:d "
    + "reward_max:d epsilon:d delta:d default_reward:d events_per_user_max:q reward_window_ms:q token_lifetime_ms:q"),
  stats: layout(`size:p ${STATS.map((name) => `${name}:q`).join(" ")}`),
};
export const MARK_BYTES = 88; // of bandana_mark, which is kept as it is

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Reads and writes structs. Memory may move with every call of the module, so views are made anew. */
export class Memory {
  constructor(exports) {
    this.exports = exports;
    this.held = [];
  }
  get view() {
    return new DataView(this.exports.memory.buffer);
  }
  bytes(at, size) {
    return new Uint8Array(this.exports.memory.buffer, at, size);
  }
  /** A copy. */
  copy(at, size) {
    return this.bytes(at, size).slice();
  }
  text({ data, size }) {
    return decoder.decode(this.copy(data, size));
  }
  /** Text that ends with a zero. */
  literal(at) {
    const bytes = this.bytes(at, this.exports.memory.buffer.byteLength - at);
    return decoder.decode(bytes.slice(0, bytes.indexOf(0)));
  }

  read(name, at) {
    const view = this.view;
    const read = {};
    for (const field of LAYOUTS[name].fields) {
      const where = at + field.at;
      switch (field.type) {
        case "i": read[field.name] = view.getInt32(where, true); break;
        case "q": read[field.name] = view.getBigInt64(where, true); break;
        case "d": read[field.name] = view.getFloat64(where, true); break;
        case "b": case "a": read[field.name] = { data: view.getUint32(where, true), size: view.getUint32(where + 4, true) }; break;
        default: read[field.name] = view.getUint32(where, true);
      }
    }
    return read;
  }
  array(name, { data, size }) {
    return Array.from({ length: size }, (_, i) => this.read(name, data + i * LAYOUTS[name].size));
  }
  doubles({ data, size }) {
    return Array.from({ length: size }, (_, i) => this.view.getFloat64(data + 8 * i, true));
  }

  /** Runs `body`; all that it put into the memory is erased and freed after. */
  scope(body) {
    const before = this.held;
    this.held = [];
    try {
      return body();
    } finally {
      for (const [at, size] of this.held) {
        this.bytes(at, size).fill(0);
        this.exports.bandana_deallocate(at);
      }
      this.held = before;
    }
  }
  allocate(size) {
    const at = this.exports.bandana_allocate(size + 1); // never 0 bytes
    if (at === 0) throw new RangeError(`no memory for ${size} bytes`);
    this.bytes(at, size + 1).fill(0);
    this.held.push([at, size + 1]);
    return at;
  }
  /** Bytes or text: {data, size}. */
  put(given) {
    const bytes = typeof given === "string" ? encoder.encode(given) : given;
    const data = this.allocate(bytes.length);
    this.bytes(data, bytes.length).set(bytes);
    return { data, size: bytes.length };
  }
  putDoubles(numbers) {
    const data = this.allocate(8 * numbers.length);
    const view = this.view;
    numbers.forEach((number, i) => view.setFloat64(data + 8 * i, number, true));
    return { data, size: numbers.length };
  }
  putIds(ids) {
    const data = this.allocate(4 * ids.length);
    const view = this.view;
    ids.forEach((id, i) => view.setUint32(data + 4 * i, id, true));
    return { data, size: ids.length };
  }
  putTexts(texts) {
    return this.putPlain(texts.map((text) => this.put(text)));
  }
  putPlain(pairs) {
    const data = this.allocate(8 * pairs.length);
    const view = this.view;
    pairs.forEach((pair, i) => {
      view.setUint32(data + 8 * i, pair.data, true);
      view.setUint32(data + 8 * i + 4, pair.size, true);
    });
    return { data, size: pairs.length };
  }
  /** A struct with the fields that are given and zeros; `size` is set. Text and bytes are put as well. */
  struct(name, given = {}) {
    const at = this.allocate(LAYOUTS[name].size);
    this.write(name, at, { size: LAYOUTS[name].size, ...given });
    return at;
  }
  structs(name, all) {
    const size = LAYOUTS[name].size;
    const data = this.allocate(size * all.length);
    all.forEach((given, i) => this.write(name, data + size * i, given));
    return { data, size: all.length };
  }
  write(name, at, given) {
    for (const { name: field, type, at: offset } of LAYOUTS[name].fields) {
      let value = given[field];
      if (value === undefined) continue;
      if (type === "b" && (typeof value === "string" || value instanceof Uint8Array)) value = this.put(value);
      const view = this.view; // put may have moved it
      const where = at + offset;
      switch (type) {
        case "i": view.setInt32(where, Number(value), true); break;
        case "q": view.setBigInt64(where, BigInt(value), true); break;
        case "d": view.setFloat64(where, value, true); break;
        case "b": case "a": view.setUint32(where, value.data, true); view.setUint32(where + 4, value.size, true); break;
        default: view.setUint32(where, value, true);
      }
    }
  }
}
