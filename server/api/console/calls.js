// Calls of this server. One at a time; the token goes in a header, and is kept for this tab alone.

const KEY = "bandana-token";

/** An answer that is no success: `status` of HTTP, and the server's message. */
export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

let turn = Promise.resolve();

/** Keeps the token until the tab is closed; empty: forgets it. */
export function keepToken(token) {
  if (token === "") sessionStorage.removeItem(KEY);
  else sessionStorage.setItem(KEY, token);
}

export const hasToken = () => sessionStorage.getItem(KEY) !== null;

async function send(path, body, type, accept) {
  const headers = {};
  const token = sessionStorage.getItem(KEY);
  if (token !== null) headers.authorization = `Bearer ${token}`;
  if (body !== undefined) headers["content-type"] = type;
  if (accept) headers.accept = accept;
  const answer = await fetch(path, {
    method: body === undefined ? "GET" : "POST",
    headers,
    body,
    credentials: "omit",
    cache: "no-store",
    redirect: "error",
  });
  const text = await answer.text();
  if (answer.ok) return text;
  let message = text;
  try {
    message = JSON.parse(text).message;
  } catch {
    // No JSON: a proxy's own words.
  }
  throw new Refused(answer.status, message || `HTTP ${answer.status}`);
}

/**
 * The body of an answer as text. Without `body` a GET. Throws Refused, and TypeError where nobody
 * answers.
 */
export function callText(path, body, type = "application/json", accept = "") {
  const mine = turn.then(() => send(path, body, type, accept));
  turn = mine.catch(() => {});
  return mine;
}

/** The answer as an object. `body`: an object that goes as JSON. */
export async function call(path, body) {
  return JSON.parse(await callText(path, body === undefined ? undefined : JSON.stringify(body)));
}

export const ofModel = (model, verb) => `/v1/models/${encodeURIComponent(model)}:${verb}`;
