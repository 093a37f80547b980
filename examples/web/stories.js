// The stories come with the page, so that a click loads nothing.
export const TOPICS = ["Science", "Sport", "Culture", "Money"];
export const STORIES = [
  [0, "A telescope the size of a shoebox finds a planet", "It took three students, a borrowed mirror and eleven cloudless nights. The planet is two thirds water, and its year lasts nine days."],
  [0, "Why octopuses punch fish", "Divers filmed fourteen hunts. The octopus leads, the fish follow, and those that do not help are struck."],
  [0, "The oldest bread is older than farming", "Crumbs in a fireplace, four thousand years before the first field: people baked from what grew wild."],
  [1, "Underdogs win after twelve minutes of extra time", "The keeper scored the last goal himself. The town has declared a holiday, and a second one for cleaning up."],
  [1, "She rows an ocean, then asks for the way home", "Seventy-one days alone, one shark, and a radio that played a single station."],
  [1, "A chess club that nobody wants to leave", "Play begins at dusk under the bridge. The waiting list has four hundred names."],
  [2, "The museum that hangs its pictures upside down", "Visitors stay three times as long, and remember twice as much. The curator would like to try it with the chairs."],
  [2, "A choir for people who cannot sing", "Rehearsals are on Tuesdays. The first concert was sold out, the second one too."],
  [2, "Letters found in a wall tell of a city at play", "A carpenter, a dancer and a baker wrote to each other for thirty years. Nobody knows who hid them."],
  [3, "Repair shops earn more than shops", "In three streets of five, mending beats selling. The oldest tool on the bench is from 1911."],
  [3, "What a cup of coffee costs, and who is paid", "We followed one bean from the hill to the counter. It changed hands nine times."],
  [3, "The bank that closes at noon", "It has no debts, no app and no complaints. Its customers are on average sixty-three."],
].map(([topic, title, text], i) => ({ id: i + 1, topic, title, text, features: TOPICS.map((_, t) => (t === topic ? 1 : 0)) }));
