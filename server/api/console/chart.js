// Charts as inline SVG, with gridlines, units, and the values under the pointer or the arrow keys.
import {h, s} from "./dom.js";
import {number} from "./words.js";

const WIDTH = 480;
const HEIGHT = 190;
const EDGE = {left: 46, right: 8, top: 10, bottom: 24};

/** Round values that cover [low, high], about `count` of them. */
export function ticks(low, high, count) {
  const raw = (high - low || Math.abs(high) || 1) / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((m) => m >= raw * 0.999);
  const out = [];
  for (let i = Math.floor(low / step); i * step < high + step * 0.999; ++i) out.push(i * step);
  return out;
}

function pathOf(points) {
  let open = false;
  return points
    .map(([x, y]) => {
      if (y === undefined) {
        open = false;
        return "";
      }
      const command = `${open ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`;
      open = true;
      return command;
    })
    .join("");
}

function band(points, x, y) {
  const whole = points.filter((p) => p.low !== undefined && p.high !== undefined);
  if (whole.length < 2) return null;
  const up = whole.map((p) => `${x(p.at).toFixed(1)} ${y(p.high).toFixed(1)}`);
  const down = whole.map((p) => `${x(p.at).toFixed(1)} ${y(p.low).toFixed(1)}`).reverse();
  return s("path", {class: "band", d: `M${[...up, ...down].join("L")}Z`});
}

/**
 * A line over time with its interval. `points`: {at (ms), value, low, high, text}, the oldest
 * first; values may be
 * undefined. `unit` stands behind the title.
 */
export function lineChart(title, unit, points) {
  const values = points.flatMap((p) => [p.value, p.low, p.high]).filter((v) => v !== undefined);
  if (values.length === 0) return null;
  const lines = ticks(Math.min(...values), Math.max(...values), 4);
  const [low, high] = [
    lines[0],
    lines[lines.length - 1] === lines[0] ? lines[0] + 1 : lines[lines.length - 1],
  ];
  const [first, last] = [points[0].at, points[points.length - 1].at];
  const x = (at) =>
    EDGE.left +
    (WIDTH - EDGE.left - EDGE.right) * (last === first ? 1 : (at - first) / (last - first));
  const y = (v) => EDGE.top + ((HEIGHT - EDGE.top - EDGE.bottom) * (high - v)) / (high - low);
  const clock = (at) =>
    new Date(at).toLocaleTimeString([], {hour: "2-digit", minute: "2-digit", second: "2-digit"});
  const said = h("span", {class: "said"}, points[points.length - 1].text);
  const mark = s("line", {
    class: "mark",
    y1: EDGE.top,
    y2: HEIGHT - EDGE.bottom,
    visibility: "hidden",
  });
  let at = points.length - 1;
  const look = (index) => {
    at = Math.max(0, Math.min(points.length - 1, index));
    mark.setAttribute("x1", x(points[at].at));
    mark.setAttribute("x2", x(points[at].at));
    mark.setAttribute("visibility", "visible");
    said.textContent = `${clock(points[at].at)}: ${points[at].text}`;
  };
  const svg = s(
    "svg",
    {
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      role: "img",
      tabindex: "0",
      "aria-label": `${title}, ${unit}: ${points[points.length - 1].text}`,
      pointermove: (event) => {
        const box = svg.getBoundingClientRect();
        const to = ((event.clientX - box.left) * WIDTH) / box.width;
        const far = points.map((p) => Math.abs(x(p.at) - to));
        look(far.indexOf(Math.min(...far)));
      },
      keydown: (event) => {
        const step = {ArrowLeft: -1, ArrowRight: 1}[event.key];
        if (step) look(at + step);
      },
    },
    lines.map((v) => [
      s("line", {class: "grid", x1: EDGE.left, x2: WIDTH - EDGE.right, y1: y(v), y2: y(v)}),
      s("text", {x: EDGE.left - 6, y: y(v) + 4, "text-anchor": "end"}, number(v)),
    ]),
    s("text", {x: EDGE.left, y: HEIGHT - 6}, clock(first)),
    s("text", {x: WIDTH - EDGE.right, y: HEIGHT - 6, "text-anchor": "end"}, clock(last)),
    band(points, x, y),
    s("path", {
      class: "line",
      d: pathOf(points.map((p) => [x(p.at), p.value === undefined ? undefined : y(p.value)])),
    }),
    mark,
  );
  return h("figure", {}, h("figcaption", {}, h("b", {}, title), ` (${unit}) `, said), svg);
}

/** Values side by side, from zero on: a name, a bar and the number. `rows`: [name, value, text]. */
export function bars(title, columns, rows) {
  const most = Math.max(...rows.map(([, value]) => Math.abs(value)), 1e-300);
  const negative = rows.some(([, value]) => value < 0);
  const bar = (value) => {
    const zero = negative ? 50 : 0;
    const length = (Math.abs(value) / most) * (negative ? 50 : 100);
    return s(
      "svg",
      {viewBox: "0 0 100 8", preserveAspectRatio: "none", height: "8", "aria-hidden": "true"},
      s("rect", {
        class: "bar",
        x: value < 0 ? zero - length : zero,
        y: 1,
        width: length,
        height: 6,
      }),
      s("line", {
        class: "zero",
        x1: zero,
        x2: zero,
        y1: 0,
        y2: 8,
        "vector-effect": "non-scaling-stroke",
      }),
    );
  };
  return h(
    "table",
    {class: "bars"},
    h("caption", {}, title),
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        columns.map((c, i) => h("th", {scope: "col", class: i === 1 ? "n" : ""}, c)),
        h("td", {}),
      ),
    ),
    h(
      "tbody",
      {},
      rows.map(([name, value, text]) =>
        h(
          "tr",
          {},
          h("th", {scope: "row"}, name),
          h("td", {class: "n"}, text ?? number(value)),
          h("td", {class: "length"}, bar(value)),
        ),
      ),
    ),
  );
}
