// Elements by DOM calls alone: every text is a text node, so no name can become markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === "function") element.addEventListener(name, value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(
    ...children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== ""),
  );
  return element;
}

/** An element of HTML. Attributes whose value is a function are listeners; text is never markup. */
export function h(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** An element of SVG. */
export function s(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

const shown = new WeakMap(); // what was last put into a place, before anybody touched it
const TAKES_FOCUS = "a, button, input, select, textarea, summary, [tabindex]";

/** Puts the children in the place of those before, where they differ. Focus stays. */
export function show(place, ...children) {
  const fresh = h("div", {}, ...children);
  if (shown.get(place)?.isEqualNode(fresh)) return;
  shown.set(place, fresh.cloneNode(true));
  const at = [...place.querySelectorAll(TAKES_FOCUS)].indexOf(document.activeElement);
  place.replaceChildren(...fresh.childNodes);
  if (at >= 0) place.querySelectorAll(TAKES_FOCUS)[at]?.focus({preventScroll: true});
}

/** Name and value pairs. Pairs without a value are left out. */
export function facts(pairs) {
  return h(
    "dl",
    {},
    pairs
      .filter(([, value]) => value !== undefined && value !== "")
      .map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))),
  );
}

/**
 * A table that is a list on narrow screens. `columns`: [title, "n" for numbers]; a row's first cell
 * is its name.
 */
export function table(columns, rows) {
  const cell = (value, i) =>
    i === 0
      ? h("th", {scope: "row"}, value)
      : h(
          "td",
          {
            class: [columns[i][1], value === "" || value === undefined ? "none" : ""]
              .join(" ")
              .trim(),
            "data-label": columns[i][0] === "State" ? null : columns[i][0],
          },
          value,
        );
  return h(
    "table",
    {class: "rows"},
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        columns.map(([title, kind]) => h("th", {scope: "col", class: kind}, title)),
      ),
    ),
    h(
      "tbody",
      {},
      rows.map((row) => h("tr", {}, row.map(cell))),
    ),
  );
}
