// From what an application asks for to structs of bandana.h.
import { BandanaError } from "./error.js";

const FORMS = { inline: 0, ids: 1, names: 2, query: 3, named: 4 };
const SEEN = { shown: 1, rewarded: 2 };
const KINDS = { number: 0, boolean: 1, string: 2, texts: 3, numbers: 4 };

function wrong(message) {
  return new BandanaError("INVALID_ARGUMENT", message);
}

function valuesOf(memory, name, features) {
  return memory.structs("value", Object.entries(features).map(([field, value]) => {
    const what = { name: field };
    if (typeof value === "number") return { ...what, kind: KINDS.number, number: value };
    if (typeof value === "boolean") return { ...what, kind: KINDS.boolean, number: value ? 1 : 0 };
    if (typeof value === "string") return { ...what, kind: KINDS.string, text: value };
    if (!Array.isArray(value)) throw wrong(`${name}.${field} must be a number, a boolean, a text or a list of one kind`);
    const given = value.every((one) => typeof one === "number")
      ? { kind: KINDS.numbers, numbers: memory.putDoubles(value).data }
      : { kind: KINDS.texts, texts: memory.putTexts(value.map(String)).data };
    return { ...what, ...given, count: value.length };
  }));
}

function rulesOf(memory, rules) {
  const bound = (value) => value ?? NaN;
  const id = (one) => (one.id === undefined ? {} : { has_id: 1, id: one.id });
  const { excludeSeen } = rules;
  if (excludeSeen && !SEEN[excludeSeen.seen]) throw wrong(`arms.rules.excludeSeen.seen must be "shown" or "rewarded", got ${excludeSeen.seen}`);
  return memory.struct("rules", {
    where: memory.structs("range", (rules.where ?? []).map((one) => ({
      field: one.field, min: bound(one.min), max: bound(one.max), above: bound(one.above), below: bound(one.below) }))),
    boosts: memory.structs("boost", (rules.boosts ?? []).map((one) => ({
      tag: one.tag, name: one.name, group: one.group, value: one.value, add: one.add, ...id(one) }))),
    pins: memory.structs("pin", (rules.pins ?? []).map((one) => ({ name: one.name, rank: one.rank, ...id(one) }))),
    at_most: memory.structs("limit", (rules.atMost ?? []).map((one) => ({ group: one.group, tag: one.tag, count: one.count }))),
    exclude_seen: excludeSeen ? SEEN[excludeSeen.seen] : 0,
    seen_within_ms: excludeSeen?.withinMs ?? 0,
  });
}

/** The address of a bandana_arms. */
export function armsOf(memory, arms) {
  const given = Array.isArray(arms) ? { features: arms } : arms ?? {};
  const fields = {};
  if (given.features) {
    fields.form = FORMS.inline;
    fields.features = memory.putDoubles(given.features.flat());
    if (given.ids) fields.ids = memory.putIds(given.ids);
  } else if (given.named) {
    fields.form = FORMS.named;
    fields.named = memory.structs("named", given.named.map((arm, i) => ({
      id: arm.id, values: valuesOf(memory, `arms.named[${i}].features`, arm.features) })));
  } else if (given.ids) {
    fields.form = FORMS.ids;
    fields.ids = memory.putIds(given.ids);
  } else if (given.names) {
    fields.form = FORMS.names;
    fields.names = memory.putTexts(given.names);
  } else if (given.query) {
    const { query } = given;
    fields.form = FORMS.query;
    fields.tags_any = memory.putTexts(query.tagsAny ?? []);
    fields.tags_all = memory.putTexts(query.tagsAll ?? []);
    fields.tags_none = memory.putTexts(query.tagsNone ?? []);
    fields.excluded_ids = memory.putIds(query.excludedIds ?? []);
    fields.excluded_names = memory.putTexts(query.excludedNames ?? []);
  } else {
    throw wrong("arms must be a list of feature vectors, or have one of features, ids, names, query, named");
  }
  if (given.context) fields.context = valuesOf(memory, "arms.context", given.context);
  if (given.rules) fields.rules = rulesOf(memory, given.rules);
  return memory.struct("arms", fields);
}

const bytesOf = (name, text) => {
  try {
    return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  } catch {
    throw wrong(`${name} must be base64`);
  }
};

/** The address of a bandana_backend_answer. `selection`: SelectResponse as the HTTP API writes it. */
export function backendAnswerOf(memory, { user, model, policyHash, decidedMs, shown = 0, selection }) {
  const texts = { user, model, policyHash, "selection.token": selection?.token };
  for (const [name, text] of Object.entries(texts)) {
    if (typeof text !== "string") throw wrong(`answer.${name} must be a text`);
  }
  for (const [name, number] of Object.entries({ decidedMs, shown })) {
    if (!Number.isSafeInteger(number)) throw wrong(`answer.${name} must be a whole number, got ${number}`);
  }
  const { positions = [], armIds, armNames, posteriorVersion = 0, rewardWindows = [] } = selection;
  const lists = ["scores", "means", "widths", "propensities"].map((name) => selection[name] ?? []);
  for (const list of [...lists, ...[armIds, armNames].filter(Boolean)]) {
    if (list.length !== positions.length) throw wrong(`answer.selection: its lists must have ${positions.length} entries, as positions has`);
  }
  const arms = positions.map((position, i) => {
    const [score, mean, width, propensity] = lists.map((list) => Number(list[i]));
    return { position, score, mean, width, propensity, id: armIds?.[i] ?? 0, name: armNames?.[i] ?? "" };
  });
  return memory.struct("backend_answer", {
    user, model, policy_hash: bytesOf("answer.policyHash", policyHash), decided_ms: decidedMs, shown, posterior_version: posteriorVersion,
    arms: memory.structs("arm", arms), reward_windows: memory.putDoubles(rewardWindows.map(Number)), token: bytesOf("answer.selection.token", selection.token) });
}

const LEAVES = { when_due: 0, at_start: 1 };
const WHEN_FULL = { block: 0, drop: 1 };

/** The address of a bandana_options. */
export function optionsOf(memory, exports, { url, model, leave = "at_start", policy = {}, ...more }) {
  const at = memory.struct("options");
  exports.bandana_options_init(at);
  if (!(leave in LEAVES)) throw wrong(`leave must be "at_start" or "when_due", got ${leave}`);
  const flag = (value) => (value === undefined ? undefined : Number(value));
  memory.write("options", at, {
    target: url,
    model,
    leave: LEAVES[leave],
    require_local: flag(policy.requireLocal),
    require_proven: flag(policy.requireProven),
    allow_research: flag(policy.allowResearch),
    epsilon_max: policy.epsilonMax,
    delta_max: policy.deltaMax,
    events_per_user_max: policy.eventsPerUserMax,
    when_full: WHEN_FULL[more.whenFull],
    queue_reports_max: more.queueReportsMax,
    deliveries_in_flight_max: more.deliveriesInFlightMax,
    reports_per_delivery_max: more.reportsPerDeliveryMax,
    select_deadline_ms: more.selectDeadlineMs,
    report_deadline_ms: more.reportDeadlineMs,
    connect_timeout_ms: more.connectTimeoutMs,
    backoff_min_ms: more.backoffMinMs,
    backoff_max_ms: more.backoffMaxMs,
    posterior_interval_ms: more.posteriorIntervalMs,
    arm_effects_tag: more.armEffectsTag,
  });
  return at;
}
