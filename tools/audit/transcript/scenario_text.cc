#include <optional>
#include <string>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "tools/audit/transcript/scenario.h"

namespace bandana::audit {
namespace {

std::string TextOf(const std::optional<Reaction>& reaction) {
  if (!reaction) return "none";
  return absl::StrFormat("%s at %.3f windows",
                         reaction->value ? absl::StrFormat("%.3f", *reaction->value) : "missing",
                         reaction->at);
}

std::string SideOf(const Scenario& scenario, const Choice& target, int side) {
  if (scenario.differs == Differs::kReaction) return TextOf(target.reactions[side]);
  return absl::StrJoin(side == 0 ? target.features : *target.other_features, " ",
                       [](std::string* out, double x) { absl::StrAppendFormat(out, "%.3g", x); });
}

constexpr const char* kActs[] = {
    "select",       "read",         "read pages",        "look",          "device sleeps",
    "device clock", "server clock", "restart device",    "kill device",   "restart server",
    "kill server",  "open epoch",   "peer's epoch",      "peer's policy", "entropy",
    "checkpoint",   "full disk",    "refresh posterior", "update model",  "delete user",
    "move alias",   "guess",        "foreground"};
constexpr const char* kLives[] = {"", "ends the process", "restarts the process",
                                  "lets the device sleep"};

}  // namespace

std::string Describe(const Scenario& scenario) {
  std::string text = absl::StrFormat(
      "seed %d: %s, window %s, tokens live %s, queue %d (%s), trouble %.2f\n", scenario.seed,
      scenario.combination->name, absl::FormatDuration(scenario.window),
      absl::FormatDuration(scenario.token_lifetime), scenario.queue_reports_max,
      scenario.drops_when_full ? "drops" : "blocks", scenario.trouble);
  if (scenario.aliased) text += "  asked for by an alias\n";
  if (scenario.life != ProcessLife::kUntouched) {
    absl::StrAppendFormat(&text, "  reports leave at starts; the reaction %s\n",
                          kLives[static_cast<int>(scenario.life)]);
  }
  if (scenario.rate.calls_per_second > 0) text += "  calls have a rate\n";
  const Choice& target = scenario.choices[scenario.target];
  absl::StrAppendFormat(&text, "  choice %d differs in %s: %s, or %s\n", scenario.target,
                        scenario.difference, SideOf(scenario, target, 0),
                        SideOf(scenario, target, 1));
  for (std::size_t i = 0; i < scenario.steps.size(); ++i) {
    const Step& step = scenario.steps[i];
    absl::StrAppendFormat(&text, "  step %d, after %s: %s", i, absl::FormatDuration(step.after),
                          kActs[static_cast<int>(step.act)]);
    if (step.act == Act::kSelect || step.act == Act::kGuess) {
      const Choice& choice = scenario.choices[step.choice];
      absl::StrAppendFormat(&text, " %d of user %d, rank %d of %d", step.choice, choice.user,
                            choice.shown, choice.top_k);
    } else {
      absl::StrAppendFormat(&text, " %.2f", step.amount);
    }
    text += "\n";
  }
  return text;
}

}  // namespace bandana::audit
