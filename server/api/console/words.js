// How things are said: numbers, modes, the state of a model. Pure functions of what Admin answers.

const MODES = {
  NON_PRIVATE: [
    "non-private",
    "Rewards and contexts reach the server as they are. Nothing is promised.",
  ],
  LOCAL_REWARD: [
    "local rewards",
    "The device randomizes each reward before it leaves. The server never sees a reward; it sees " +
      "contexts.",
  ],
  CENTRAL_REWARD: [
    "central rewards",
    "Rewards reach the server as they are. It publishes what is made of noised statistics alone.",
  ],
  JOINT: [
    "joint: contexts and rewards",
    "Rewards and contexts reach the server as they are. What it serves to others hides those of " +
      "any one decision.",
  ],
  LOCAL_CONTEXT: [
    "local contexts and rewards",
    "The device chooses, and perturbs context and reward. The server sees neither.",
  ],
};

export const modeName = (mode) => MODES[mode]?.[0] ?? mode ?? "";
export const whatLeaves = (mode) => MODES[mode]?.[1] ?? "";

/** Four digits, as people write them; "-" for nothing. */
export function number(value) {
  if (value === undefined || value === null || value === "") return "-";
  const n = Number(value);
  if (!Number.isFinite(n)) return String(value);
  if (Number.isInteger(n)) return n.toLocaleString("en").replaceAll(",", "\u202f");
  const size = Math.abs(n);
  return size >= 1e6 || size < 1e-4 ? n.toExponential(2) : String(Number(n.toPrecision(4)));
}

/** The promise of a private model: ε = 2, proven. Empty where there is none. */
export function promise(model) {
  if (!model.epsilon) return "";
  const delta = model.delta ? `, δ = ${number(model.delta)}` : "";
  const research = model.research ? ", research" : "";
  return `ε = ${number(model.epsilon)}${delta}, ${model.guarantee ?? ""}${research}`;
}

/** A value with its interval: 0.31 (0.28 to 0.35). */
export function withInterval(value) {
  if (!value || (value.value === undefined && value.low === undefined)) return "-";
  const ends = value.low === undefined ? "" : ` (${number(value.low)} to ${number(value.high)})`;
  return number(value.value) + ends;
}

/** The mean reward since the start: as learnt, else as judged; "" for nothing. */
export function meanReward(stats) {
  if (Number(stats?.rewards?.rewards ?? 0) > 0)
    return withInterval({...stats.rewards, value: stats.rewards.mean ?? 0});
  return liftOf(stats, "") ? withInterval(liftOf(stats, "")) : "";
}

/** How often the first arm is not the one that the model expects most of; "" for nothing. */
export function explored(stats) {
  const ranked = Number(stats?.choices?.ranked ?? 0);
  return ranked === 0
    ? ""
    : `${number((100 * Number(stats.choices.explored ?? 0)) / ranked)} % of ${number(ranked)}`;
}

export const liftOf = (stats, against) =>
  (stats?.lift?.values ?? []).find((v) => (v.against ?? "") === against);

export const sentence = (text) => {
  const whole = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!]$/.test(whole) ? whole : `${whole}.`;
};

/** {level: good|warn|bad, word, whys: [sentence]}. `error`: why there are no stats. */
export function stateOf(stats, error) {
  if (error) return {level: "bad", word: "no answer", whys: [sentence(error)]};
  if (!stats) return {level: "", word: "asking", whys: []};
  const refusals = stats.refusals ?? [];
  const whys = refusals.map(
    (r) => sentence(r.text ?? r.reason) + (r.remedy ? ` ${sentence(r.remedy)}` : ""),
  );
  const reasons = refusals.map((r) => r.reason);
  if (reasons.some((r) => r !== "budget" && r !== "clock"))
    return {level: "bad", word: "not learning", whys};
  if (reasons.includes("budget")) return {level: "warn", word: "budget spent", whys};
  if (reasons.includes("clock")) return {level: "warn", word: "clock doubted", whys};
  return {level: "good", word: stats.follower ? "following" : "serving", whys};
}

/** Nothing where there is no apprentice; else how often it agrees. */
export function agreement(stats) {
  const seen = Number(stats?.apprentice?.decisions ?? 0);
  return seen === 0 ? "" : `${number((100 * Number(stats.apprentice.agreements ?? 0)) / seen)} %`;
}

/** The apprentice in sentences: how it does, and the next step (docs/personalizer.md). */
export function apprenticeWords(stats) {
  const a = stats?.apprentice;
  if (!agreement(stats)) return [];
  const words = [
    `The model would have chosen as the application does in ${agreement(stats)} of ` +
      `${number(a.decisions)} decisions since the start.`,
  ];
  if (a.reward !== undefined && a.rewardOfAgreements !== undefined) {
    words.push(
      `Mean reward: ${number(a.rewardOfAgreements)} where it agrees, ${number(a.reward)} in all.`,
    );
  }
  words.push(
    "To go live take `apprentice: true` (or `baseline` in requests) out; until then its choices " +
      "are not shown.",
  );
  return words;
}

const AGAINST = {
  "": "This policy",
  uniform: "Above any arm at random",
  first: "Above the arm listed first",
};
export const againstName = (against) => AGAINST[against ?? ""] ?? against;

/** All that may be said of the lift now. */
export function liftWords(stats) {
  const lift = stats?.lift;
  if (!lift) return "This model's rewards are not judged.";
  if (lift.none) return sentence(lift.none);
  const waiting =
    Number(lift.waiting ?? 0) > 0
      ? ` ${number(lift.waiting)} wait for a reward, or for older decisions.`
      : "";
  if (Number(lift.decisions ?? 0) === 0) {
    return (
      `Nothing yet: the first 500 decisions choose the form of the intervals, and ` +
      `${number(lift.firstDecisions ?? 0)} have come.${waiting}`
    );
  }
  return (
    `Of ${number(lift.decisions)} decisions since the start. All intervals hold together with ` +
    `95 %, whenever one looks.${waiting}`
  );
}
