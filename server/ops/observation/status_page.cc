#include "server/ops/observation/status_page.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "server/ops/observation/chart.h"
#include "server/ops/observation/html.h"
#include "server/ops/observation/model_page.h"
#include "server/ops/observation/model_state.h"
#include "server/ops/observation/series_charts.h"

namespace bandana::server {
namespace {

// One state per model, in the order of the view.
std::vector<State> StatesOf(const ServerView& view) {
  std::vector<State> states;
  for (const ModelView& model : view.models) states.push_back(StateOf(model));
  return states;
}

std::string LinkTo(const ModelView& model) {
  return absl::StrCat("<a href=\"", PathOf(model), "\">", Escape(model.name), "</a>");
}

// A trouble that models share is told once.
struct SharedTrouble {
  std::string word;
  Trouble trouble;  // since the earliest
  std::vector<std::string> links;
};

std::vector<SharedTrouble> Shared(const ServerView& view, const std::vector<State>& states) {
  std::vector<SharedTrouble> all;
  for (std::size_t i = 0; i < states.size(); ++i) {
    for (const Trouble& trouble : states[i].troubles) {
      auto same = std::ranges::find_if(all, [&](const SharedTrouble& other) {
        return other.word == states[i].word && other.trouble.why == trouble.why &&
               other.trouble.remedy == trouble.remedy;
      });
      if (same == all.end()) same = all.insert(all.end(), {states[i].word, trouble, {}});
      if (trouble.since && (!same->trouble.since || *trouble.since < *same->trouble.since))
        same->trouble.since = trouble.since;
      same->links.push_back(LinkTo(view.models[i]));
    }
  }
  return all;
}

std::string ModelsWords(const std::vector<State>& states) {
  const std::size_t all = states.size();
  const auto good = static_cast<std::size_t>(
      std::ranges::count(states, Level::kGood, [](const State& state) { return state.level; }));
  if (all == 0) {
    return "No models yet: add one to the configuration, or make one with bandana-ctl models "
           "create.";
  }
  if (all == 1) return good == 1 ? "The model is all right." : "The model is not all right:";
  if (good == all) return absl::StrCat("All ", all, " models are all right.");
  return absl::StrCat(all - good, " of ", all, " models ", all - good == 1 ? "is" : "are",
                      " not all right:");
}

struct Headline {
  Level level = Level::kGood;
  std::string word;  // "Serving"
};

Headline HeadlineOf(const ServerView& view, const State& server, const std::vector<State>& states) {
  Headline headline{server.level, server.word == "draining" ? "Draining" : "Serving"};
  for (const State& state : states) headline.level = std::max(headline.level, state.level);
  const bool dead = !view.models.empty() && std::ranges::all_of(view.models, [](const auto& m) {
    return !m.failure.empty() && !m.passes;
  });
  if (dead && !view.draining) headline.word = "Not serving";
  return headline;
}

std::string Banner(const ServerView& view, const State& server, const std::vector<State>& states,
                   absl::Time now) {
  const Headline headline = HeadlineOf(view, server, states);
  std::vector<std::string> items;
  for (const Trouble& trouble : server.troubles)
    items.push_back(absl::StrCat("<li><span>", Escape(Words(trouble, now)), "</span></li>\n"));
  for (const SharedTrouble& shared : Shared(view, states)) {
    items.push_back(absl::StrCat("<li>", absl::StrJoin(shared.links, ", "), ": ", shared.word,
                                 ". <span>", Escape(Words(shared.trouble, now)), "</span></li>\n"));
  }
  return absl::StrCat("<div class=\"banner ", ClassOf(headline.level), "\"><p><b>", headline.word,
                      ".</b> ", ModelsWords(states), "</p>",
                      items.empty() ? "" : absl::StrCat("<ul>", absl::StrJoin(items, ""), "</ul>"),
                      "</div>\n");
}

// Over the last ten seconds.
std::string RateOf(const ModelView& model, const Series& recent) {
  constexpr std::size_t kSamples = 10;
  const auto found = recent.models.find(model.name);
  double sum = 0;
  int count = 0;
  if (found != recent.models.end()) {
    const std::vector<ModelSample>& samples = found->second;
    for (std::size_t i = samples.size() - std::min(kSamples, samples.size()); i < samples.size();
         ++i) {
      if (!samples[i].reports_per_second) continue;
      sum += *samples[i].reports_per_second;
      ++count;
    }
  }
  return count == 0 ? "-" : absl::StrFormat("%.3g", sum / count);
}

std::string Cell(const char* kind, const char* label, const std::string& html) {
  return absl::StrCat("<td class=\"", kind, "\" data-label=\"", label, "\">", html, "</td>");
}

std::string Row(const ModelView& model, const State& state, const Series& recent) {
  std::uint64_t rejected = 0;
  for (const auto& [reason, count] : model.reports_rejected) rejected += count;
  const bool bounded = model.budget_used.has_value();
  const bool is_private = !model.mechanism.empty();
  return absl::StrCat(
      "<tr><th class=\"name\" scope=\"row\">", LinkTo(model), "</th><td class=\"state\">",
      StateWord(state), "</td><td class=\"mode\">", ModeWords(model), "</td>",
      Cell(is_private ? "privacy" : "none", "", is_private ? PromiseWords(model) : ""),
      Cell(bounded ? "budget" : "none", "Budget",
           bounded
               ? BarSvg(*model.budget_used, absl::StrFormat("%.3g %%", 100 * *model.budget_used))
               : ""),
      Cell("n", "Reports/s", RateOf(model, recent)),
      Cell("n", "Reports", Grouped(model.reports_applied)),
      Cell("n", "Rejected", Grouped(rejected)), Cell("n", "Lag", Grouped(model.apply_lag())),
      "</tr>\n");
}

std::string Overview(const ServerView& view, const std::vector<State>& states,
                     const Series& recent) {
  if (view.models.empty()) return "";
  std::string table =
      "<div class=\"wide\"><table class=\"rows models\"><thead><tr><th>Model</th><th>State</th>"
      "<th>Mode</th><th>Privacy per event</th><th>Budget used</th>"
      "<th class=\"n\">Reports/s</th><th class=\"n\">Reports</th><th class=\"n\">Rejected</th>"
      "<th class=\"n\">Lag</th></tr></thead><tbody>\n";
  for (std::size_t i = 0; i < states.size(); ++i) table += Row(view.models[i], states[i], recent);
  return table + "</tbody></table></div>\n";
}

}  // namespace

std::string StatusPage(const ServerView& view, const Series& recent, const Series& hour,
                       absl::Time now) {
  const State server = StateOf(view, now);
  const std::vector<State> states = StatesOf(view);
  const Headline headline = HeadlineOf(view, server, states);
  std::string models;
  for (std::size_t i = 0; i < states.size() && states.size() <= kModelsInFull; ++i) {
    absl::StrAppend(&models, "<h2>", LinkTo(view.models[i]), "</h2>\n",
                    ModelSection(view.models[i], {{kRecentWords, recent}}));
  }
  return HtmlPage(
      absl::StrCat("bandana-server: ",
                   headline.level == Level::kGood ? "all right" : "not all right"),
      absl::StrCat(
          "<h1>bandana-server</h1>\n", Banner(view, server, states, now),
          "<p class=\"about\">version ", Escape(view.version), " &middot; up ",
          absl::FormatDuration(absl::Trunc(now - view.started, absl::Seconds(1))), " &middot; ",
          view.models.size(), view.models.size() == 1 ? " model" : " models", " &middot; ",
          view.calls_in_flight, " calls in flight</p>\n", Overview(view, states, recent),
          "<h2>Server</h2>\n<h3>", kRecentWords, "</h3>\n", ServerCharts(recent), "<h3>",
          kHourWords, "</h3>\n", ServerCharts(hour), models,
          "<footer>Each model has a page of its own, with its counters and charts: follow its "
          "name. Lag counts durable entries that are not applied yet; rates are those of the last "
          "ten seconds. Charts have a sample every second for five minutes, and every ten seconds "
          "for an hour. Rewards are shown of non-private models only. "
          "<a href=\"/metrics\">metrics</a> &middot; <a href=\"/healthz\">healthz</a> &middot; "
          "<a href=\"/readyz\">readyz</a></footer>\n"));
}

}  // namespace bandana::server
