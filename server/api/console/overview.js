// All models: the state first, then a row for each.
import {call, ofModel} from "./calls.js";
import {h, show, table} from "./dom.js";
import {
  agreement,
  liftOf,
  meanReward,
  modeName,
  number,
  promise,
  stateOf,
  withInterval,
} from "./words.js";

const ASKED_PER_ROUND = 4; // models: many cost no more than a few
const ROUNDS_PER_LIST = 5;

const linkTo = (name) => h("a", {href: `#/models/${encodeURIComponent(name)}`}, name);

// One item per trouble, with the models that share it.
function troubles(models, states) {
  const found = new Map();
  models.forEach(({name}, i) =>
    states[i].whys.forEach((why) => {
      const key = `${states[i].word}: ${why}`;
      found.set(key, [...(found.get(key) ?? []), name]);
    }),
  );
  return [...found].map(([words, names]) =>
    h(
      "li",
      {},
      names.map((name, i) => [i > 0 ? ", " : "", linkTo(name)]),
      `: ${words}`,
    ),
  );
}

function banner(models, states) {
  const off = states.filter((state) => state.level === "bad" || state.level === "warn").length;
  const level = states.some((state) => state.level === "bad") ? "bad" : off > 0 ? "warn" : "good";
  const word =
    models.length === 0
      ? "No models yet."
      : off === 0
        ? models.length === 1
          ? "The model is all right."
          : `All ${models.length} models are all right.`
        : `${off} of ${models.length} models ${off === 1 ? "is" : "are"} not all right:`;
  const items = troubles(models, states);
  return h(
    "div",
    {class: `banner ${level}`},
    h("p", {}, h("b", {}, word)),
    items.length > 0 ? h("ul", {}, items) : null,
  );
}

function row({name, mode, promised}, state, stats) {
  return [
    linkTo(name),
    h("span", {class: state.level}, state.word),
    modeName(mode),
    promised,
    stats ? number(stats.reportsApplied ?? 0) : "-",
    stats && Number(stats.decisionsWaiting ?? 0) > 0 ? number(stats.decisionsWaiting) : "",
    meanReward(stats),
    liftOf(stats, "uniform") ? withInterval(liftOf(stats, "uniform")) : "",
    agreement(stats),
  ];
}

const COLUMNS = [
  ["Model"],
  ["State"],
  ["Mode"],
  ["Privacy per event"],
  ["Learnt from", "n"],
  ["Waiting", "n"],
  ["Mean reward", "n"],
  ["Above random", "n"],
  ["Apprentice agrees", "n"],
];

/** A view of all models in `place`. Its `round` asks what is due, and shows it. */
export function overview(place) {
  document.title = "bandana";
  const stats = new Map();
  const errors = new Map();
  let models = [];
  let rounds = 0;
  let next = 0;

  async function ask(name) {
    try {
      stats.set(name, await call(ofModel(name, "stats")));
      errors.delete(name);
    } catch (error) {
      if (!(error.status >= 500)) throw error;
      stats.delete(name);
      errors.set(name, error.message);
    }
  }

  function draw() {
    const states = models.map(({name}) => stateOf(stats.get(name), errors.get(name)));
    const rows = models.map((model, i) => row(model, states[i], stats.get(model.name)));
    const used = COLUMNS.map((_, i) => i < 3 || rows.some((cells) => cells[i] !== ""));
    show(
      place,
      banner(models, states),
      models.length === 0
        ? h("p", {}, "Make one from a recipe, or add one to the server's configuration file.")
        : table(
            COLUMNS.filter((_, i) => used[i]),
            rows.map((cells) => cells.filter((_, i) => used[i])),
          ),
      used[5] ? h("p", {class: "soft"}, "Waiting: decisions that are not learnt yet.") : null,
      used[6]
        ? h(
            "p",
            {class: "soft"},
            "Mean reward, and how far it is above a choice at random: the page of a model " +
              "has both over time.",
          )
        : null,
    );
    const good = states.filter((state) => state.level === "good").length;
    return `${models.length} model${models.length === 1 ? "" : "s"}, ${good} all right`;
  }

  return {
    async round() {
      if (rounds++ % ROUNDS_PER_LIST === 0) {
        const listed = (await call("/v1/admin:listModels")).models ?? [];
        models = listed
          .map(({model}) => ({name: model.model, mode: model.mode, promised: promise(model)}))
          .sort((a, b) => (a.name < b.name ? -1 : 1));
      }
      const due = models.filter(({name}) => !stats.has(name) && !errors.has(name));
      for (
        let i = 0;
        due.length < Math.min(ASKED_PER_ROUND, models.length) && i < models.length;
        ++i
      ) {
        due.push(models[next++ % models.length]);
      }
      for (const {name} of due) await ask(name);
      return draw();
    },
  };
}
