// As reporter.cc, by the JavaScript package in Node: PACKAGE URL MODEL STORE DECISIONS REWARD.
import path from "node:path";

const [folder, url, model, store, decisions, reward] = process.argv.slice(2);
const { connect, fileStore } = await import(path.resolve(folder, "src/node.js"));
const arms = Array.from({ length: 16 }, (_, i) => [Math.cos(i), Math.sin(i)]);
const client = await connect({ url, model, store: fileStore(store), policy: { epsilonMax: 20 }, leave: "when_due", selectDeadlineMs: 30_000 });
// The file of this store is written anew at each commit, so few reports wait at a time.
const settled = async (most) => {
  for (;;) {
    const stats = await client.stats();
    if (stats.reportsPending <= most) return stats;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
};
for (let i = 0; i < Number(decisions); ++i) {
  await settled(1024);
  for (const slot of await client.selectSlots("user", arms, arms.length)) await client.report(slot, Number(reward));
}
const stats = await settled(0);
console.log(stats.reportsApplied, stats.reportsDefaulted);
await client.close();
