// Try a decision: a form from the model's schema, and the ranking with its explanation. Nothing is
// learnt from it.
import {call, ofModel} from "./calls.js";
import {bars} from "./chart.js";
import {h, show, table} from "./dom.js";
import {describe} from "./model.js";
import {number} from "./words.js";

const RANKS = 10;

const WHY_NOT = {
  JOINT:
    "Decisions of this model are not tried here: context and answer of a decision are its user's " +
    "alone, and nobody else is to see one.",
  LOCAL_CONTEXT:
    "Decisions of this model are not tried here: its devices choose by themselves, so that " +
    "the server sees no context. Try one with the SDK.",
};

const kindOf = (field) =>
  ["categorical", "numeric", "cyclic", "boolean", "set", "text", "vector"].find((k) => k in field);
const listOf = (text) =>
  text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");

/** The value of a field as the schema has it, from what somebody typed; undefined: missing. */
export function valueOf(field, text) {
  if (text.trim() === "") return undefined;
  const kind = kindOf(field);
  if (kind === "numeric" || kind === "cyclic") return Number(text);
  if (kind === "boolean") return text === "true";
  if (kind === "set") return listOf(text);
  if (kind === "vector")
    return text
      .trim()
      .split(/[\s,]+/)
      .map(Number);
  return text;
}

/** A value that fits the field, for a form to begin with. */
export function exampleOf(field) {
  const kind = kindOf(field);
  const values = field[kind].values ?? [];
  if (kind === "numeric") return ((field.numeric.low ?? 0) + (field.numeric.high ?? 0)) / 2;
  if (kind === "cyclic") return 0;
  if (kind === "boolean") return true;
  if (kind === "set") return values.length > 0 ? values.slice(0, 1) : ["a"];
  if (kind === "vector") return new Array(field.vector.dimension).fill(0);
  return values.length > 0 ? values[0] : "a";
}

/** Rows of numbers, a line each, as inline arms. */
export function inlineArms(text) {
  const rows = text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
  return {inlineArms: {features: rows.flatMap((line) => line.split(/[\s,]+/).map(Number))}};
}

function inputFor(field, id) {
  const kind = kindOf(field);
  const choice =
    kind === "boolean"
      ? ["true", "false"]
      : kind === "categorical"
        ? (field.categorical.values ?? [])
        : [];
  if (choice.length > 0) {
    return h(
      "select",
      {id},
      h("option", {value: ""}, "(missing)"),
      choice.map((v) => h("option", {value: v}, v)),
    );
  }
  const hint =
    kind === "numeric"
      ? `${number(field.numeric.low ?? 0)} to ${number(field.numeric.high ?? 0)}`
      : kind === "cyclic"
        ? `0 to ${number(field.cyclic.period)}`
        : kind === "set"
          ? "values, separated by commas"
          : kind === "vector"
            ? `${field.vector.dimension} numbers`
            : "";
  return h("input", {
    id,
    placeholder: hint,
    inputmode: kind === "numeric" || kind === "cyclic" ? "decimal" : null,
  });
}

const labelled = (id, text, input, wide) =>
  h("div", {class: wide ? "wide" : ""}, h("label", {for: id}, text), input);

function armsBegun(model) {
  const fields = model.features?.arm ?? [];
  if (model.features) {
    const features = Object.fromEntries(fields.map((field) => [field.name, exampleOf(field)]));
    return JSON.stringify(
      [
        {id: "a", features},
        {id: "b", features},
      ],
      null,
      1,
    );
  }
  const row = (one) =>
    Array.from({length: model.dimension}, (_, i) => (i === one ? 1 : 0)).join(" ");
  return `${row(0)}\n${row(1)}`;
}

function armName(answer, i) {
  return (
    answer.armNames?.[i] ||
    (answer.armIds ? `arm ${answer.armIds[i]}` : `arm at position ${answer.positions[i]}`)
  );
}

function ranking(answer) {
  if (answer.point)
    return [h("h3", {}, "The action"), h("p", {}, answer.point.map(number).join(", "))];
  const ranks = (answer.positions ?? []).map((_, i) => i);
  const explained = ranks.filter((i) => answer.explanations?.[i]?.parts?.length > 0);
  return [
    h("h3", {}, "Ranking"),
    table(
      [
        ["Arm"],
        ["Probability", "n"],
        ["Score, reward", "n"],
        ["Mean, reward", "n"],
        ["Width", "n"],
      ],
      ranks.map((i) => [
        armName(answer, i),
        number(answer.propensities?.[i]),
        number(answer.scores?.[i]),
        number(answer.means?.[i]),
        number(answer.widths?.[i]),
      ]),
    ),
    explained.map((i) =>
      h(
        "details",
        {open: i === 0},
        h("summary", {}, `Why: ${armName(answer, i)}`),
        bars(
          "Parts of the mean",
          ["Of", "Mean, reward", "Bar"],
          answer.explanations[i].parts.map((part) => [
            part.name,
            part.mean ?? 0,
            `${number(part.mean ?? 0)} ± ${number(part.width ?? 0)}`,
          ]),
        ),
      ),
    ),
    (answer.notes ?? []).length > 0
      ? [
          h("h3", {}, "Notes"),
          h(
            "ul",
            {},
            answer.notes.map((n) => h("li", {}, n)),
          ),
        ]
      : null,
  ];
}

function formOf(model, arms, send) {
  const user = h("input", {id: "user", value: "ann", required: true, maxlength: "128"});
  const context = (model.features?.context ?? []).map((field, i) => ({
    field,
    input: inputFor(field, `context-${i}`),
  }));
  const source = h(
    "select",
    {id: "source"},
    arms > 0 ? h("option", {value: "catalogue"}, `of the catalogue (${number(arms)})`) : null,
    h("option", {value: "here"}, "written here"),
  );
  const tags = h("input", {id: "tags", placeholder: "any; separated by commas"});
  const text = h("textarea", {id: "arms", spellcheck: "false"});
  text.value = armsBegun(model);
  const words = model.features
    ? "Arms: a JSON list of id and features"
    : `Arms: ${model.dimension} numbers a line`;
  const tagsPlace = labelled("tags", "With one of the tags", tags);
  const textPlace = labelled("arms", words, text, true);
  const choose = () => {
    tagsPlace.hidden = source.value === "here";
    textPlace.hidden = source.value !== "here";
  };
  source.addEventListener("change", choose);
  choose();
  const set = () => {
    if (source.value === "catalogue")
      return [{catalogueQuery: {tagsAny: listOf(tags.value)}}, arms];
    if (!model.features) {
      const inline = inlineArms(text.value);
      return [inline, Math.max(1, Math.floor(inline.inlineArms.features.length / model.dimension))];
    }
    const named = JSON.parse(text.value);
    return [{namedArms: {arms: named}}, named.length];
  };
  return h(
    "form",
    {
      submit: (event) => {
        event.preventDefault();
        send(() => {
          const [armSet, count] = set();
          const most = model.dimension > 256 ? Math.floor(4096 / model.dimension) : RANKS;
          const values = context
            .map(({field, input}) => [field.name, valueOf(field, input.value)])
            .filter(([, value]) => value !== undefined);
          return {
            user: user.value,
            arms: armSet,
            topK: Math.max(1, Math.min(most, RANKS, count)),
            learn: false,
            explain: true,
            ...(values.length > 0 ? {context: Object.fromEntries(values)} : {}),
          };
        });
      },
    },
    labelled("user", "User", user),
    context.map(({field, input}) => labelled(input.id, `Context: ${field.name}`, input)),
    labelled("source", "Arms", source),
    tagsPlace,
    textPlace,
    h("div", {}, h("button", {}, "Decide")),
  );
}

/** A view that tries decisions of a model. */
export function decideView(place, name) {
  document.title = `${name}: try a decision · bandana`;
  const answer = h("div", {"aria-live": "polite"});
  let loaded = false;
  async function send(make) {
    try {
      show(answer, ranking(await call(ofModel(name, "select"), make())));
    } catch (error) {
      const words =
        error instanceof SyntaxError
          ? `Arms: no JSON: ${error.message}`
          : error.status === 404
            ? `${error.message}. Decisions are made on api_listen, not where Admin is alone.`
            : error.message;
      show(answer, h("p", {class: "bad", role: "alert"}, words));
    }
  }
  return {
    async round() {
      if (loaded) return `${name}: nothing is learnt from what is tried here`;
      const described = await describe(name);
      loaded = true;
      const model = described?.model;
      if (!model) place.replaceChildren(h("p", {class: "bad"}, "There is no such model."));
      else if (WHY_NOT[model.mode]) place.replaceChildren(h("p", {}, WHY_NOT[model.mode]));
      else {
        place.replaceChildren(
          h("p", {class: "soft"}, "Nothing is learnt from it, and it is not kept. Its values are counted with the others."),
          formOf(model, described.arms ?? 0, send),
          answer,
        );
      }
      return name;
    },
  };
}
