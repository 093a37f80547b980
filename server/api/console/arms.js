// The catalogue of a model: what is in it, putting more, taking out.
import {call, callText, ofModel} from "./calls.js";
import {h, show, table} from "./dom.js";
import {catalogue} from "./model.js";
import {number} from "./words.js";

const LISTED_MAX = 2000; // arms; a greater catalogue is read by other tools
const ROUNDS_PER_LIST = 5;
const TYPES = {csv: "text/csv", lines: "application/x-ndjson"};

/** "csv" or "lines", as the first line looks. */
export const formOf = (text) => (text.trimStart().startsWith("{") ? "lines" : "csv");

const pairs = (map) =>
  Object.entries(map ?? {})
    .map(([name, value]) => `${name}=${value}`)
    .join(", ");

// Named ones are listed as the numbers that they became.
function features(arm) {
  const values = arm.features ?? [];
  return (
    values.slice(0, 6).map(number).join(" ") + (values.length > 6 ? ` … (${values.length})` : "")
  );
}

// Asks by its own words before it removes.
function removeButton(arm, remove) {
  const label = arm.name || `arm ${arm.id ?? 0}`;
  let sure = false;
  const button = h(
    "button",
    {
      type: "button",
      class: "quiet",
      "aria-label": `Remove ${label}`,
      blur: () => {
        sure = false;
        button.textContent = "Remove";
      },
      click: () => {
        if (sure) remove(arm);
        sure = true;
        button.textContent = "Really remove?";
        button.setAttribute("aria-label", `Really remove ${label}?`);
      },
    },
    "Remove",
  );
  return button;
}

const COLUMNS = [["Id"], ["Name"], ["Tags"], ["Groups"], ["Fields"], ["Features"], [""]];

function listing(count, arms, remove) {
  if (count === 0) return h("p", {}, "The catalogue is empty.");
  if (arms === null) {
    return h(
      "p",
      {},
      `The catalogue has ${number(count)} arms, more than are listed here. ` +
        "`bandana-ctl arms list` and listArms (docs/http.md) read them.",
    );
  }
  const rows = arms.map((arm) => [
    String(arm.id ?? 0),
    arm.name ?? "",
    (arm.tags ?? []).join(", "),
    pairs(arm.groups),
    pairs(arm.fields),
    features(arm),
    removeButton(arm, remove),
  ]);
  const used = COLUMNS.map((_, i) => i === 0 || rows.some((row) => row[i] !== ""));
  return table(
    COLUMNS.filter((_, i) => used[i]),
    rows.map((row) => row.filter((_, i) => used[i])),
  );
}

function putForm(put) {
  const text = h("textarea", {
    id: "rows",
    spellcheck: "false",
    required: true,
    placeholder: 'id,name,tags,features\n7,Boots,"red,new",0.1 0.9',
  });
  const file = h("input", {
    id: "file",
    type: "file",
    accept: ".csv,.jsonl,.ndjson,.json",
    change: async () => {
      if (file.files.length > 0) text.value = await file.files[0].text();
    },
  });
  return h(
    "form",
    {
      submit: (event) => {
        event.preventDefault();
        put(text);
      },
    },
    h(
      "div",
      {class: "wide"},
      h(
        "label",
        {for: "rows"},
        "Arms to add or replace: CSV with a header (a column field:NAME or feature:NAME each), " +
          "or a JSON object per line",
      ),
      text,
    ),
    h("div", {}, h("label", {for: "file"}, "From a file"), file),
    h("div", {}, h("button", {}, "Put")),
  );
}

/** A view of a model's arms. */
export function armsView(place, name) {
  document.title = `${name}: arms · bandana`;
  const said = h("p", {class: "said", role: "status"});
  const list = h("div", {});
  let rounds = 0;

  async function load() {
    const count = Number((await call(ofModel(name, "stats"))).arms ?? 0);
    const arms = count > LISTED_MAX ? null : await catalogue(name);
    show(list, listing(count, arms, remove));
    return `${name}: ${number(count)} arms`;
  }
  async function change(ask, words) {
    try {
      said.textContent = words(await ask());
      said.className = "said good";
      await load();
    } catch (error) {
      said.textContent = error.message;
      said.className = "said bad";
    }
  }
  const remove = (arm) =>
    change(
      () => call(ofModel(name, "removeArms"), {ids: [arm.id ?? 0]}),
      (done) => `Removed ${number(done.removed ?? 0)}: ${number(done.arms ?? 0)} arms are left.`,
    );
  const put = (text) =>
    change(
      async () =>
        JSON.parse(await callText(ofModel(name, "putArms"), text.value, TYPES[formOf(text.value)])),
      (done) => {
        text.value = "";
        const changed = `Added ${number(done.added ?? 0)}, replaced ${number(done.replaced ?? 0)}`;
        return `${changed}: ${number(done.arms ?? 0)} arms.`;
      },
    );

  place.append(putForm(put), said, list);
  let words = "";
  return {
    async round() {
      if (rounds++ % ROUNDS_PER_LIST === 0) words = await load();
      return words;
    },
  };
}
