// The console: which view is shown, when it asks, and who is asking.
import {armsView} from "./arms.js";
import {hasToken, keepToken} from "./calls.js";
import {createView} from "./create.js";
import {decideView} from "./decide.js";
import {h, show} from "./dom.js";
import {modelView} from "./model.js";
import {overview} from "./overview.js";

const ROUND_MS = 2000;
const ROUND_MS_MAX = 60000;

const main = document.getElementById("main");
const nav = document.getElementById("nav");
const live = document.getElementById("live");

let view = null;
let timer = 0;
let pause = ROUND_MS;

function say(words) {
  if (live.textContent !== words) live.textContent = words;
}

const OF_MODEL = {
  "": ["State", modelView],
  try: ["Try a decision", decideView],
  arms: ["Arms", armsView],
};

// Where the hash leads: #/, #/new, #/models/NAME, #/models/NAME/try, #/models/NAME/arms.
function placeNow() {
  const [, of, name, what = ""] = (location.hash.slice(1) || "/")
    .split("/")
    .map(decodeURIComponent);
  return of === "models" && name && OF_MODEL[what]
    ? {name, what}
    : {what: of === "new" ? "new" : ""};
}

function viewNow() {
  const {name, what} = placeNow();
  const place = h("div", {});
  const title = name ?? (what === "new" ? "New model" : "");
  main.replaceChildren(...(title ? [h("h2", {}, title)] : []), place);
  if (name) return OF_MODEL[what][1](place, name);
  return what === "new" ? createView(place) : overview(place);
}

function drawNav() {
  const now = placeNow();
  const link = (to, text, here) =>
    h("a", {href: `#${to}`, "aria-current": here ? "page" : null}, text);
  const forget = h(
    "button",
    {
      class: "quiet",
      type: "button",
      click: () => {
        keepToken("");
        open();
      },
    },
    "Forget the token",
  );
  const of = now.name && `/models/${encodeURIComponent(now.name)}`;
  show(
    nav,
    link("/", "All models", !now.name && now.what === ""),
    link("/new", "New model", now.what === "new"),
    now.name
      ? Object.entries(OF_MODEL).map(([what, [text]]) =>
          link(what ? `${of}/${what}` : of, text, what === now.what),
        )
      : null,
    hasToken() ? forget : null,
  );
}

function askToken(message) {
  const field = h("input", {
    type: "password",
    id: "token",
    autocomplete: "off",
    required: true,
    "aria-describedby": "why",
  });
  const form = h(
    "form",
    {
      submit: (event) => {
        event.preventDefault();
        keepToken(field.value.trim());
        open();
      },
    },
    h("div", {}, h("label", {for: "token"}, "Token"), field),
    h("div", {}, h("button", {}, "Sign in")),
  );
  main.replaceChildren(
    h("h2", {}, "Sign in"),
    h(
      "p",
      {id: "why"},
      "This server asks who you are: give the token of a " +
        "principal with ROLE_ADMIN. It is kept until this tab is closed, and goes to this server " +
        "alone.",
    ),
    form,
    h("p", {class: "bad", role: "alert"}, message),
  );
  field.focus();
}

async function round() {
  const mine = view;
  try {
    const words = await mine.round();
    if (mine !== view) return;
    say(words);
    pause = ROUND_MS;
  } catch (error) {
    if (mine !== view) return;
    if (error.status === 401) {
      view = null;
      askToken(hasToken() ? error.message : "");
      return;
    }
    pause = Math.min(2 * pause, ROUND_MS_MAX);
    say(
      error.status === undefined
        ? `The server does not answer. It is asked again in ${pause / 1000} s.`
        : `${error.message}. It is asked again in ${pause / 1000} s.`,
    );
  }
  if (!document.hidden) timer = setTimeout(round, pause);
}

function open() {
  clearTimeout(timer);
  pause = ROUND_MS;
  drawNav();
  view = viewNow();
  round();
}

addEventListener("hashchange", () => {
  open();
  main.focus();
});
document.addEventListener("visibilitychange", () => {
  clearTimeout(timer);
  if (!document.hidden && view !== null) round();
});
open();
