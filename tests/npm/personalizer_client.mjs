// A session of Microsoft's client with a server: `node personalizer_client.mjs MODULES ENDPOINT KEY TASK`. Prints one object of JSON.
import { createRequire } from "node:module";
import { join, resolve } from "node:path";

const [modules, endpoint, key, task] = process.argv.slice(2);
const require = createRequire(join(resolve(modules), "package.json"));
const { PersonalizerClient } = require("@azure/cognitiveservices-personalizer");
const { ApiKeyCredentials } = require("@azure/ms-rest-js");

const credentials = new ApiKeyCredentials({ inHeader: { "Ocp-Apim-Subscription-Key": key } });
// No retries: each answer is seen as it is.
const client = new PersonalizerClient(credentials, endpoint, { noRetryPolicy: true });

const devices = ["ios", "android", "web"];
const articles = ["sport", "politics", "weather", "music"].map(tag => ({ id: tag, features: [{ article: { tag } }] }));

async function errorOf(promise) {
  try {
    await promise;
    return null;
  } catch (error) {
    return { status: error.statusCode, code: error.body?.error?.code, message: error.body?.error?.message };
  }
}

// Every call of the client, and what it makes of errors.
async function calls() {
  const rank = await client.rank({
    eventId: "event-1", contextFeatures: [{ user: { device: "ios" } }], actions: articles, excludedActions: ["music"],
  });
  await client.events.reward("event-1", { value: 1 });
  await client.events.reward("event-1", { value: 0 });
  const random = await client.rank({ actions: articles });
  await client.events.reward(random.eventId, { value: 0.5 });
  const deferred = await errorOf(client.rank({ eventId: "event-2", actions: articles, deferActivation: true }));
  const activated = deferred ?? await errorOf(client.events.activate("event-2"));
  return {
    status: rank._response.status, eventId: rank.eventId, rewardActionId: rank.rewardActionId, ranking: rank.ranking,
    randomId: random.eventId.length, deferred, activated,
    again: (await client.rank({
      eventId: "event-1", contextFeatures: [{ user: { device: "ios" } }], actions: articles, excludedActions: ["music"],
    })).rewardActionId,
    reused: await errorOf(client.rank({ eventId: "event-1", actions: articles })),
    duplicate: await errorOf(client.rank({ actions: [articles[0], articles[0]] })),
    unknown: await errorOf(client.events.reward("no-such-event", { value: 1 })),
    unknownActivate: await errorOf(client.events.activate("no-such-event")),
    stranger: await errorOf(new PersonalizerClient(
      new ApiKeyCredentials({ inHeader: { "Ocp-Apim-Subscription-Key": "nobody" } }), endpoint, { noRetryPolicy: true },
    ).rank({ actions: articles })),
  };
}

// A loop of 500 rounds. Each device likes one article: a reward is 1 with probability 0.9 for it, and 0.1 for others.
async function session() {
  let state = 20261001;
  const uniform = () => (state = (state * 48271) % 2147483647) / 2147483647;  // MINSTD
  const rewards = [];
  for (let round = 0; round < 500; round += 1) {
    const device = Math.floor(uniform() * devices.length);
    const rank = await client.rank({ contextFeatures: [{ user: { device: devices[device] } }], actions: articles });
    const liked = rank.rewardActionId === articles[device].id;
    const value = uniform() < (liked ? 0.9 : 0.1) ? 1 : 0;
    await client.events.reward(rank.eventId, { value });
    rewards.push(value);
  }
  const mean = part => part.reduce((a, b) => a + b, 0) / part.length;
  return { first: mean(rewards.slice(0, 100)), last: mean(rewards.slice(-100)) };
}

console.log(JSON.stringify(await { calls, session }[task]()));
