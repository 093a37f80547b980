// A front page: three stories are chosen, a click opens one, and nothing is sent because of it. Reports leave when the page is
// opened again, all alike, clicked or not.
import { connect, pageStore } from "/sdk/src/browser.js";
import { STORIES, TOPICS } from "./stories.js";

const SLOTS = 3;
const API = document.documentElement.dataset.api;
const $ = (id) => document.getElementById(id);

// --- what leaves: every request of this page goes through fetch

let calls = 0;
const send = window.fetch.bind(window);
window.fetch = async (url, how = {}) => {
  const method = String(url).split("/bandana.v1.Recommender/")[1];
  if (!method) return send(url, how);
  ++calls;
  const bytes = new Uint8Array(how.body);
  const hex = Array.from(bytes.slice(5), (byte) => byte.toString(16).padStart(2, "0")).join("");
  const item = document.createElement("li");
  item.innerHTML = `<b></b> <span></span><code></code>`;
  item.querySelector("b").textContent = method;
  item.querySelector("span").textContent = `${bytes.length - 5} bytes, ${explain(method)}`;
  item.querySelector("code").textContent = hex;
  item.querySelector("code").title = hex;
  $("calls").prepend(item);
  return send(url, how);
};
function explain(method) {
  return { GetModel: "the model's name", Select: "your name here, the stories, the promise", Submit: "tokens, and a number drawn by chance for each" }[method] ?? "";
}

// --- the reader

function reader() {
  const known = localStorage.getItem("reader") ?? `reader-${crypto.randomUUID().slice(0, 8)}`;
  localStorage.setItem("reader", known);
  return known;
}

function open(story) {
  const dialog = $("story");
  dialog.querySelector(".topic").textContent = TOPICS[story.topic];
  dialog.querySelector("h2").textContent = story.title;
  dialog.querySelector(".text").textContent = story.text;
  dialog.showModal();
}

function show(client, chosen) {
  $("chosen").replaceChildren(...chosen.map((selection) => {
    const story = STORIES[selection.arms[0].position];
    const card = document.createElement("button");
    card.className = "story";
    card.innerHTML = `<span class="topic"></span><b></b>`;
    card.querySelector(".topic").textContent = TOPICS[story.topic];
    card.querySelector("b").textContent = story.title;
    card.onclick = async () => {
      const before = calls;
      open(story);
      card.classList.add("read");
      await client.report(selection, 1);
      $("silent").textContent = calls === before ? "The click that you made just now: nothing left because of it." : "A click was sent.";
    };
    return card;
  }));
  const shown = new Set(chosen.map((selection) => selection.arms[0].position));
  $("more").replaceChildren(...STORIES.filter((_, i) => !shown.has(i)).map((story) => {
    const item = document.createElement("li");
    const button = document.createElement("button");
    button.textContent = story.title;
    button.onclick = () => open(story);
    item.append(button);
    return item;
  }));
}

async function tellSpent(client, user) {
  const spent = await client.spent(user);
  const stats = await client.stats();
  $("spent").textContent = `${spent.events} events of ${client.model.eventsPerUserMax}, each at most epsilon ${spent.epsilonEvent || client.model.epsilon}. `
    + `${stats.reportsPending} reports wait for your next visit, ${stats.reportsApplied} were taken by the server in this one.`;
}

// As a reader whom nobody knows, so that it is what all have in common.
async function tellLearnt() {
  const inlineArms = { features: STORIES.flatMap((story) => story.features), ids: STORIES.map((story) => story.id) };
  const body = JSON.stringify({ user: "nobody", topK: STORIES.length, arms: { inlineArms } });
  const { positions, means, posteriorVersion = "0" } = await (await send(`${API}/v1/models/news:select`, { method: "POST", body })).json();
  const learnt = positions.map((position, i) => ({ story: STORIES[position], mean: means[i] })).sort((a, b) => b.mean - a.mean);
  $("version").textContent = posteriorVersion;
  const most = Math.max(0.01, ...learnt.map(({ mean }) => Math.abs(mean)));
  $("learnt").replaceChildren(...learnt.slice(0, 8).map(({ story, mean }) => {
    const item = document.createElement("li");
    item.innerHTML = "<span></span><i></i><em></em>";
    item.querySelector("span").textContent = story.title;
    item.querySelector("i").style.width = `${(100 * Math.max(0, mean)) / most}%`;
    item.querySelector("em").textContent = `${mean < 0 ? "−" : "+"}${Math.abs(mean).toFixed(2)}`;
    return item;
  }));
}

async function main() {
  const user = reader();
  const client = await connect({ url: API, model: "news", store: pageStore("news"), policy: { epsilonMax: 2, eventsPerUserMax: 300 } });
  const arms = { features: STORIES.map((story) => story.features), ids: STORIES.map((story) => story.id) };
  show(client, await client.selectSlots(user, arms, SLOTS));
  await client.flush(); // of the start, not of what this visit shows
  await tellSpent(client, user);
  await tellLearnt();
  // The window's end is the same, whatever the reader does.
  const end = Date.now() + 1.3 * client.model.rewardWindowMs;
  const tick = setInterval(() => {
    const left = Math.ceil((end - Date.now()) / 1000);
    $("later").textContent = left > 0 ? `Visits within ${left} s send nothing: a window is open.` : "The windows are over: your next visit sends three reports.";
    if (left <= 0) clearInterval(tick);
  }, 500);
  $("again").disabled = false;
  $("again").onclick = () => location.reload();
  // Here alone: a page that asked its server again and again would tell when its reader left.
  setInterval(() => tellSpent(client, user).catch(() => {}), 2000);
  document.body.dataset.ready = "yes";
}

main().catch((error) => {
  $("chosen").innerHTML = `<p class="error"></p>`;
  $("chosen").querySelector("p").textContent = String(error?.message ?? error);
  document.body.dataset.failed = String(error);
});
