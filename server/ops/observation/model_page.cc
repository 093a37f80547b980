#include "server/ops/observation/model_page.h"

#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "server/ops/observation/chart.h"
#include "server/ops/observation/html.h"
#include "server/ops/observation/lift_section.h"
#include "server/ops/observation/series_charts.h"

namespace bandana::server {
namespace {

std::string Fact(const char* name, const std::string& html) {
  return absl::StrCat("<div><dt>", name, "</dt><dd>", html, "</dd></div>\n");
}

std::string Rejected(const ModelView& model) {
  std::uint64_t total = 0;
  std::string reasons;
  for (const auto& [reason, count] : model.reports_rejected) {
    total += count;
    if (count > 0)
      absl::StrAppend(&reasons, reasons.empty() ? "" : ", ", Escape(reason), " ", Grouped(count));
  }
  if (reasons.empty()) return Grouped(total);
  return absl::StrCat(Grouped(total), " <small>", reasons, "</small>");
}

std::string Privacy(const ModelView& model) {
  std::string facts;
  if (model.mechanism.empty()) return facts;
  facts += Fact("Mechanism", absl::StrCat("<small>", Escape(model.mechanism), "</small>"));
  if (model.budget_used) {
    facts += Fact("Budget used by the fullest principal", BarSvg(*model.budget_used, model.budget));
  }
  if (model.epsilon_spent_user > 0) {
    facts += Fact("Spent by one user",
                  absl::StrCat(model.users_unknown ? "at most " : "",
                               "&epsilon; = ", absl::StrFormat("%.4g", model.epsilon_spent_user)));
  }
  return facts;
}

std::string FieldTable(const ModelView& model) {
  if (model.fields.empty()) return "";
  std::string rows;
  for (const FieldView& field : model.fields) {
    absl::StrAppend(&rows, "<tr><td>", Escape(field.name), "</td><td>", Grouped(field.values),
                    "</td><td>", Grouped(field.missing), "</td><td>", Grouped(field.unknown),
                    "</td><td>", Grouped(field.out_of_bounds), "</td></tr>\n");
  }
  return absl::StrCat(
      "<h3>Values of named features</h3>\n<div class=\"wide\"><table class=\"rows\"><thead><tr>"
      "<th>Field</th><th>Values</th><th>Missing</th><th>Unknown</th><th>Out of bounds</th></tr>"
      "</thead><tbody>\n",
      rows, "</tbody></table></div>\n");
}

std::string Role(const ModelView& model) {
  if (!model.followed) return "";
  const FollowedView& followed = *model.followed;
  return Fact("Follows", absl::StrCat(followed.owner.empty() ? "nobody" : Escape(followed.owner),
                                      absl::StrFormat(" <small>%.1f s behind</small>",
                                                      followed.staleness_seconds)));
}

// Says why nothing is learnt of what was decided just now.
std::string Waiting(const ModelView& model) {
  const std::uint64_t waiting = model.decisions_waiting;
  if (waiting == 0) return "";
  return Fact(
      "Not learnt yet",
      absl::StrCat(Grouped(waiting), waiting == 1 ? " decision waits" : " decisions wait",
                   model.closes_windows ? " for the end of its window" : " for its report"));
}

// Since the start; noisy ones with their interval.
std::string MeanReward(const ModelView& model) {
  if (!model.learnt) return "";
  v1::RewardStats stats;
  FillRewards(*model.learnt, stats);
  std::string words = absl::StrFormat("%.4g", stats.mean());
  if (stats.has_low()) {
    absl::StrAppendFormat(&words, " <small>95 %%: %.4g to %.4g, of randomized rewards</small>",
                          stats.low(), stats.high());
  }
  return Fact("Mean reward since the start", words);
}

std::string Percent(std::uint64_t part, std::uint64_t whole, const char* of) {
  return absl::StrCat(
      absl::StrFormat("%.3g %%", 100.0 * static_cast<double>(part) / static_cast<double>(whole)),
      " <small>of ", Grouped(whole), " ", of, "</small>");
}

std::string Choices(const ModelView& model) {
  std::string facts;
  if (model.choices) {
    facts += Fact("Decisions since the start", Grouped(model.choices->decisions));
    if (model.choices->ranked > 0) {
      facts += Fact("Explored", Percent(model.choices->explored, model.choices->ranked,
                                        "that the model chose"));
    }
  }
  if (model.apprentice && model.apprentice->decisions > 0) {
    facts += Fact("Agrees with the caller",
                  Percent(model.apprentice->agreements, model.apprentice->decisions,
                          "that the caller chose"));
  }
  return facts;
}

std::string DecisionLogFact(const ModelView& model) {
  if (!model.decision_log) return "";
  const DecisionLogView& log = *model.decision_log;
  return Fact("Decision log",
              absl::StrCat(Grouped(log.lines), " decisions, ",
                           absl::StrFormat("%.1f MiB", static_cast<double>(log.bytes) / (1 << 20)),
                           log.lost > 0 ? absl::StrCat(", ", Grouped(log.lost), " lost") : ""));
}

std::string Facts(const ModelView& model) {
  const bool is_private = !model.mechanism.empty();
  const std::string aliases = Escape(absl::StrJoin(model.aliases, ", "));
  return absl::StrCat(
      "<dl>\n", Role(model), aliases.empty() ? "" : Fact("Aliases", aliases),
      Fact("Mode", ModeWords(model)),
      Fact("Privacy per event", is_private ? PromiseWords(model) : "none"), Privacy(model),
      Fact("Features", Grouped(static_cast<std::uint64_t>(model.dimension))),
      Fact("Nodes", Grouped(model.nodes)), Fact("Arms", Grouped(model.arms)), Choices(model),
      MeanReward(model), Fact("Reports applied", Grouped(model.reports_applied)),
      Fact("Reports rejected", Rejected(model)), Waiting(model), DecisionLogFact(model),
      Fact("Posterior version", Grouped(model.posterior_version)),
      Fact("Entries not applied yet", Grouped(model.apply_lag())),
      Fact("Epoch", Grouped(model.epoch)), "</dl>\n", FieldTable(model));
}

std::string ValueWords(const EffectLook::Value& value, bool vector) {
  // The value of a group that nobody has any more has no name.
  std::string words = value.name.empty() ? "<small>unnamed</small>" : Escape(value.name);
  if (vector) return absl::StrCat(words, absl::StrFormat(": %.3g", value.mean));
  absl::StrAppendFormat(&words, ": %+.3g &plusmn; %.2g", value.mean, value.width);
  return words;
}

std::string EffectRow(const EffectLook& effect) {
  const auto words = [&](std::string* out, const EffectLook::Value& value) {
    absl::StrAppend(out, ValueWords(value, effect.vector));
  };
  return absl::StrCat(
      "<tr><th class=\"name\" scope=\"row\">", Escape(effect.name), "</th><td>",
      effect.vector ? "features" : "constant", "</td><td class=\"n\" data-label=\"Learnt of\">",
      Grouped(effect.blocks), "</td><td class=\"n\" data-label=\"Prior variance\">",
      absl::StrFormat("%.3g", effect.prior_variance), "</td><td class=\"n\" data-label=\"Weight\">",
      absl::StrFormat("%.3g", effect.weight), "</td><td class=\"",
      effect.largest.empty() ? "none" : "", "\" data-label=\"Largest\">",
      absl::StrJoin(effect.largest, " &middot; ", words), "</td></tr>\n");
}

// The effects that a model has learnt: released values only, and nothing of single users.
std::string EffectsTable(const std::vector<EffectLook>& effects) {
  if (effects.empty()) return "";
  std::string table =
      "<h3>Effects</h3>\n<div class=\"wide\"><table "
      "class=\"rows\"><thead><tr><th>Effect</th><th>Of</th>"
      "<th class=\"n\">Learnt of</th><th class=\"n\">Prior variance</th><th class=\"n\">Weight</th>"
      "<th>Largest (of features: length of the mean)</th></tr></thead><tbody>\n";
  for (const EffectLook& effect : effects) table += EffectRow(effect);
  return table + "</tbody></table></div>\n";
}

std::string Banner(const State& state, absl::Time now) {
  std::string html = absl::StrCat("<div class=\"banner ", ClassOf(state.level), "\"><p><b>",
                                  state.word, "</b></p>", state.troubles.empty() ? "" : "<ul>");
  for (const Trouble& trouble : state.troubles)
    absl::StrAppend(&html, "<li><span>", Escape(Words(trouble, now)), "</span></li>");
  return absl::StrCat(html, state.troubles.empty() ? "" : "</ul>", "</div>\n");
}

}  // namespace

std::string ModeWords(const ModelView& model) {
  if (model.mode.empty()) return "";
  if (model.mechanism.empty()) return "non-private";
  return model.mode == "LOCAL_REWARD"    ? "local rewards"
         : model.mode == "LOCAL_CONTEXT" ? "local contexts and rewards"
         : model.mode == "JOINT"         ? "joint: contexts and rewards"
                                         : "central rewards";
}

std::string PromiseWords(const ModelView& model) {
  std::string words = absl::StrCat("&epsilon; = ", absl::StrFormat("%g", model.epsilon));
  if (model.delta > 0) absl::StrAppend(&words, ", &delta; = ", absl::StrFormat("%g", model.delta));
  const bool loud = model.research || model.guarantee != "proven";
  absl::StrAppend(&words, ", ", loud ? "<span class=\"warn\">" : "", Escape(model.guarantee),
                  model.research ? ", research" : "", loud ? "</span>" : "");
  return words;
}

const char* ClassOf(Level level) {
  switch (level) {
    case Level::kGood:
      return "good";
    case Level::kWarning:
      return "warn";
    case Level::kBad:
      return "bad";
  }
  return "bad";
}

std::string StateWord(const State& state) {
  return absl::StrCat("<span class=\"", ClassOf(state.level), "\">",
                      state.level == Level::kGood ? "" : "&#9679; ", state.word, "</span>");
}

std::string PathOf(const ModelView& model) { return absl::StrCat("/models/", model.name); }

std::string ModelSection(const ModelView& model, const std::vector<NamedSeries>& charts) {
  if (model.mode.empty()) return "";
  std::string html = Facts(model);
  for (const NamedSeries& named : charts)
    absl::StrAppend(&html, "<h3>", named.span, "</h3>\n", ModelCharts(model, named.series));
  if (model.lift) html += LiftSection(*model.lift);
  return html + EffectsTable(model.looks);
}

std::string ModelPage(const ModelView& model, const Series& recent, const Series& hour,
                      absl::Time now) {
  const State state = StateOf(model);
  return HtmlPage(absl::StrCat(model.name, ": ", state.word, " - bandana-server"),
                  absl::StrCat("<p class=\"about\"><a href=\"/\">bandana-server</a></p>\n<h1>",
                               Escape(model.name), "</h1>\n", Banner(state, now),
                               ModelSection(model, {{kRecentWords, recent}, {kHourWords, hour}})));
}

}  // namespace bandana::server
