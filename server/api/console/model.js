// One model: its state, the reward over time, what it has learnt, and what its privacy costs.
import {call, callText, ofModel} from "./calls.js";
import {bars, lineChart} from "./chart.js";
import {facts, h, show, table} from "./dom.js";
import {
  againstName,
  apprenticeWords,
  explored,
  liftWords,
  meanReward,
  modeName,
  number,
  stateOf,
  whatLeaves,
  withInterval,
} from "./words.js";

const ROUNDS_PER_REST = 5; // of what changes slowly
const ARMS_SHOWN = 20;
const SEEN_MAX = 900; // half an hour of a page that is open

/** The public description of a model, as GetModel has it; throws Refused. */
export async function describe(name) {
  const listed = (await call("/v1/admin:listModels")).models ?? [];
  return listed.find(({model}) => model.model === name);
}

/** The catalogue: [{id, name, tags, ...}]. */
export async function catalogue(name) {
  const lines = await callText(ofModel(name, "listArms"), undefined);
  return lines
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
}

function stateBanner(stats, error) {
  const state = stateOf(stats, error);
  return h(
    "div",
    {class: `banner ${state.level}`},
    h("p", {}, h("b", {}, state.word)),
    state.whys.length > 0
      ? h(
          "ul",
          {},
          state.whys.map((why) => h("li", {}, why)),
        )
      : null,
  );
}

function counts(model, stats) {
  const rejected = Object.entries(stats.reportsRejected ?? {})
    .map(([why, n]) => `${why} ${number(n)}`)
    .join(", ");
  const lag = Number(stats.logSequence ?? 0) - Number(stats.appliedSequence ?? 0);
  return facts([
    ["Mode", modeName(model?.mode)],
    ["Features per arm", model && number(model.dimension)],
    ["Rewards", model && `${number(model.rewardMin ?? 0)} to ${number(model.rewardMax ?? 0)}`],
    ["Learnt from, decisions", number(stats.reportsApplied ?? 0)],
    ["Mean reward since the start", meanReward(stats)],
    ["Decisions since the start", stats.choices && number(stats.choices.decisions ?? 0)],
    ["Explored", explored(stats)],
    ["Waiting, decisions", number(stats.decisionsWaiting ?? 0)],
    ["Reported again", number(stats.reportsDuplicate ?? 0)],
    ["Rejected", rejected || "0"],
    ["Durable and not yet learnt, entries", number(lag)],
    ["Arms in the catalogue", number(stats.arms ?? 0)],
    ["Users, or clusters of them", number(stats.nodes ?? 0)],
    ["Epoch", number(stats.epoch ?? 0)],
    ["Features clipped", number(stats.featuresClipped ?? 0)],
    ["Rewards clipped", number(stats.rewardsClipped ?? 0)],
    ["Best arm, identified", stats.bestArm],
    ["Follows", stats.follower && (stats.follower.owner || "nobody now")],
  ]);
}

function liftCharts(stats) {
  const points = stats.lift?.points ?? [];
  if (points.length < 2) return [];
  return (stats.lift.values ?? []).map(({against}) =>
    lineChart(
      againstName(against),
      "reward",
      points.map((point) => {
        const value = (point.values ?? []).find((v) => (v.against ?? "") === (against ?? "")) ?? {};
        return {
          at: Date.parse(point.time),
          value: value.value,
          low: value.low,
          high: value.high,
          text: `${withInterval(value)}, ${number(point.decisions)} decisions`,
        };
      }),
    ),
  );
}

// Keeps the mean reward as it was each time that it had changed, the last `SEEN_MAX` of them.
function keepSeen(seen, stats) {
  const count = Number(stats.rewards?.rewards ?? 0);
  if (count === 0 || seen[seen.length - 1]?.count === count) return;
  const {mean = 0, low, high} = stats.rewards;
  const text = `${withInterval({value: mean, low, high})}, ${number(count)} rewards`;
  seen.push({at: Date.now(), count, value: mean, low, high, text});
  if (seen.length > SEEN_MAX) seen.shift();
}

const seenChart = (seen) =>
  seen.length < 2 ? null : lineChart("Mean reward since the server's start", "reward", seen);

function rewards(stats, seen) {
  const values = stats.lift?.values ?? [];
  return [
    h("h2", {}, "Reward"),
    h("p", {class: "soft"}, liftWords(stats)),
    Number(stats.lift?.decisions ?? 0) > 0
      ? table(
          [["Mean reward"], ["Reward", "n"], ["Low", "n"], ["High", "n"]],
          values.map((v) => [
            againstName(v.against),
            number(v.value),
            number(v.low),
            number(v.high),
          ]),
        )
      : null,
    h("div", {class: "charts"}, seenChart(seen), liftCharts(stats)),
    apprenticeWords(stats).length > 0
      ? [h("h2", {}, "Apprentice"), apprenticeWords(stats).map((w) => h("p", {}, w))]
      : null,
  ];
}

function learntTables(stats, arms) {
  const effects = stats.effects?.effects ?? [];
  const features = stats.features ?? [];
  return [
    effects.length > 0
      ? [
          h("h3", {}, "Effects"),
          table(
            [["Of"], ["Learnt of", "n"], ["Standard deviation, reward", "n"], ["Weight", "n"]],
            effects.map((e) => [
              e.name,
              number(e.blocks ?? 0),
              number(Math.sqrt(e.priorVariance ?? 0)),
              number(e.weight ?? 0),
            ]),
          ),
        ]
      : null,
    arms.length > 0
      ? bars(
          "How much each arm adds to the mean reward, the greatest first",
          ["Arm", "Adds, reward", "Bar"],
          arms
            .slice(0, ARMS_SHOWN)
            .map((arm) => [arm.name, arm.mean, `${number(arm.mean)} ± ${number(arm.deviation)}`]),
        )
      : null,
    features.length > 0
      ? [
          h("h3", {}, "Values of named features since the start"),
          table(
            [
              ["Field"],
              ["Values", "n"],
              ["Missing", "n"],
              ["Unknown", "n"],
              ["Out of bounds", "n"],
            ],
            features.map((f) => [
              f.name,
              number(f.values ?? 0),
              number(f.missing ?? 0),
              number(f.unknown ?? 0),
              number(f.outOfBounds ?? 0),
            ]),
          ),
        ]
      : null,
  ];
}

function learnt(stats, arms) {
  const tables = learntTables(stats, arms).filter((part) => part !== null);
  return tables.length > 0 ? [h("h2", {}, "Learnt"), tables] : [];
}

function privacy(model, ledger) {
  if (!model) return null;
  const isPrivate = model.mode !== "NON_PRIVATE";
  return [
    h("h2", {}, "Privacy"),
    h("p", {}, whatLeaves(model.mode)),
    isPrivate
      ? facts([
          ["Mechanism", model.mechanism],
          ["Guarantee", model.guarantee],
          ["ε per event", number(model.epsilon)],
          ["δ per event", model.delta ? number(model.delta) : ""],
          ["Events of one user at most", model.eventsPerUserMax && number(model.eventsPerUserMax)],
          ["Events accepted", ledger && number(ledger.events ?? 0)],
          ["Events of one user so far, at most", ledger && number(ledger.eventsOfOneUserMax ?? 0)],
          ["Spent by one event, ε", ledger && number(ledger.epsilonSpentEvent ?? 0)],
          ["Spent by one user, ε", ledger && number(ledger.epsilonSpentUser ?? 0)],
          ["Spent by one principal, ε at δ", ledger?.user && principal(ledger.user)],
        ])
      : null,
  ];
}

function principal(user) {
  const readings = [
    ["pure", user.epsilonPure],
    ["Gaussian", user.epsilonGaussian],
    ["zCDP", user.epsilonZcdp],
  ];
  return (
    readings
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => `${number(value)} (${name})`)
      .join(", ") + (user.delta ? ` at ${number(user.delta)}` : "")
  );
}

// How much arms of the catalogue add by themselves: models of effects, as devices may ask.
async function armEffects(name, arms) {
  const byId = new Map(arms.map((arm) => [arm.id, arm.name]));
  const out = [];
  let first = 0;
  do {
    const page = await call(ofModel(name, "armEffects"), {firstArm: first});
    (page.ids ?? []).forEach((id, i) =>
      out.push({
        name: byId.get(id) || `arm ${id}`,
        mean: page.means?.[i] ?? 0,
        deviation: Math.sqrt(page.variances?.[i] ?? 0),
      }),
    );
    first = Number(page.nextArm ?? 0);
  } while (first > 0);
  return out.sort((a, b) => b.mean - a.mean);
}

async function orNothing(ask, nothing) {
  try {
    return await ask();
  } catch (error) {
    if (error.status === 401 || error.status === undefined) throw error;
    return nothing; // not of such a model, not on this listener, or not for this caller
  }
}

const ARMS_ASKED_MAX = 2000; // of a greater catalogue no list of arms is made

/** A view of one model in `place`. */
export function modelView(place, name) {
  document.title = `${name} · bandana`;
  let model;
  let ledger;
  let arms = [];
  let hasArmEffects = true;
  let rounds = 0;
  const seen = [];
  return {
    async round() {
      let stats;
      let failure;
      try {
        stats = await call(ofModel(name, "stats"));
      } catch (error) {
        if (!(error.status >= 500)) throw error;
        failure = error.message;
      }
      if (stats && rounds++ % ROUNDS_PER_REST === 0) {
        model = (await orNothing(() => describe(name), undefined))?.model ?? model;
        ledger =
          model?.mode === "NON_PRIVATE"
            ? undefined
            : await orNothing(() => call(ofModel(name, "ledger")), undefined);
        const few = Number(stats.arms ?? 0) > 0 && Number(stats.arms) <= ARMS_ASKED_MAX;
        arms =
          few && stats.effects && hasArmEffects
            ? await orNothing(async () => armEffects(name, await catalogue(name)), null)
            : [];
        hasArmEffects = arms !== null;
        arms ??= [];
      }
      if (stats) keepSeen(seen, stats);
      show(
        place,
        stateBanner(stats, failure),
        stats
          ? [
              counts(model, stats),
              rewards(stats, seen),
              learnt(stats, arms),
              privacy(model, ledger),
            ]
          : null,
      );
      return `${name}: ${stateOf(stats, failure).word}`;
    },
  };
}
