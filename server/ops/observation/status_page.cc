#include "server/ops/observation/status_page.h"

#include <functional>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/base/status.h"
#include "server/ops/observation/chart.h"

namespace bandana::server {
namespace {

constexpr std::string_view kHead = R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>bandana-server</title>
<meta http-equiv="refresh" content="10">
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
:root { color-scheme: light dark; --line: #8884; --soft: #888; --good: #2a7f4f; --bad: #b3402e; --warn: #a06a00; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2.5rem auto; max-width: 76rem; padding: 0 1.5rem; }
h1 { font-size: 1.35rem; margin: 0; }
p.about { color: var(--soft); margin: .2rem 0 1.6rem; }
div.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
th { color: var(--soft); font-weight: 500; font-size: .85rem; vertical-align: bottom; }
th, td { text-align: left; padding: .5rem .9rem .5rem 0; border-bottom: 1px solid var(--line); white-space: nowrap; }
.n { text-align: right; font-variant-numeric: tabular-nums; }
.good { color: var(--good); } .bad { color: var(--bad); white-space: normal; } .warn { color: var(--warn); }
td.values { white-space: normal; }
small { color: var(--soft); }
h2 { font-size: 1.05rem; margin: 1.8rem 0 .4rem; }
.charts { display: flex; flex-wrap: wrap; gap: 1rem 2rem; }
svg.chart { width: 22.5rem; max-width: 100%; font: 10px system-ui, sans-serif; fill: currentColor; }
svg.chart .title { font-weight: 600; font-size: 11px; } svg.chart tspan { font-weight: 400; fill: var(--soft); }
svg.chart .axis { fill: none; stroke: var(--soft); }
svg.bar { width: 7.5rem; height: .6rem; vertical-align: middle; margin-right: .5rem; } .rail { fill: var(--line); }
footer { color: var(--soft); margin-top: 1.6rem; font-size: .9rem; }
</style></head><body>
)";

// 1234567 -> 1 234 567, with thin spaces.
std::string Grouped(std::uint64_t value) {
  std::string digits = absl::StrCat(value);
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), "&#8239;");
  }
  return digits;
}

std::string ModeCell(const ModelView& model) {
  if (model.mechanism.empty()) return "non-private";
  const char* rewards = model.mode == "LOCAL_REWARD"    ? "local rewards"
                        : model.mode == "LOCAL_CONTEXT" ? "local contexts and rewards"
                        : model.mode == "JOINT"         ? "joint: contexts and rewards"
                                                        : "central rewards";
  return absl::StrCat(rewards, "<br><small>", Escape(model.mechanism), "</small>");
}

std::string PromiseCell(const ModelView& model) {
  if (model.mechanism.empty()) return "<small>none</small>";
  std::string cell = absl::StrCat("&epsilon; = ", absl::StrFormat("%g", model.epsilon));
  if (model.delta > 0) absl::StrAppend(&cell, ", &delta; = ", absl::StrFormat("%g", model.delta));
  absl::StrAppend(&cell, " per event<br>");
  const bool loud = model.research || model.guarantee != "proven";
  absl::StrAppend(&cell, loud ? "<span class=\"warn\">" : "<small>", Escape(model.guarantee),
                  model.research ? ", research" : "", loud ? "</span>" : "</small>");
  if (model.budget_used) {
    absl::StrAppend(&cell, "<br>", BarSvg(*model.budget_used, model.budget));
  }
  if (model.epsilon_spent_user > 0) {
    absl::StrAppend(&cell, "<br><small>spent by one user: ", model.users_unknown ? "at most " : "",
                    "&epsilon; = ", absl::StrFormat("%.4g", model.epsilon_spent_user), "</small>");
  }
  return cell;
}

std::string StateCell(const ModelView& model) {
  if (model.failure.empty()) return "<span class=\"good\">serving</span>";
  return absl::StrCat("<span class=\"bad\">", Escape(model.failure), "</span>");
}

std::string Row(const ModelView& model) {
  std::uint64_t rejected = 0;
  for (const auto& [reason, count] : model.reports_rejected) rejected += count;
  const auto number = [](std::uint64_t value) {
    return absl::StrCat("<td class=\"n\">", Grouped(value), "</td>");
  };
  return absl::StrCat("<tr><td><b>", Escape(model.name), "</b></td><td>", ModeCell(model),
                      "</td><td>", PromiseCell(model), "</td>",
                      number(static_cast<std::uint64_t>(model.dimension)), number(model.nodes),
                      number(model.arms), number(model.reports_applied), number(rejected),
                      number(model.posterior_version), number(model.apply_lag()),
                      number(model.epoch), "<td>", StateCell(model), "</td></tr>\n");
}

std::string Table(const std::vector<ModelView>& models) {
  if (models.empty()) return "<p>No models yet.</p>\n";
  std::string table =
      "<div class=\"wide\"><table><thead><tr><th>Model</th><th>Mode</th><th>Privacy</th>"
      "<th class=\"n\">Features</th><th class=\"n\">Nodes</th><th class=\"n\">Arms</th>"
      "<th class=\"n\">Reports</th><th class=\"n\">Rejected</th><th class=\"n\">Version</th>"
      "<th class=\"n\">Lag</th><th class=\"n\">Epoch</th><th>State</th></tr></thead><tbody>\n";
  for (const ModelView& model : models) table += Row(model);
  return table + "</tbody></table></div>\n";
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
  return absl::StrCat("<tr><td>", Escape(effect.name), "</td><td>",
                      effect.vector ? "features" : "constant", "</td><td class=\"n\">",
                      Grouped(effect.blocks), "</td><td class=\"n\">",
                      absl::StrFormat("%.3g", effect.prior_variance), "</td><td class=\"values\">",
                      absl::StrJoin(effect.largest, " &middot; ", words), "</td></tr>\n");
}

// What a model of effects has learnt: released values only, and nothing of single users.
std::string EffectsTable(const std::vector<EffectLook>& effects) {
  if (effects.empty()) return "";
  std::string table =
      "<div class=\"wide\"><table><thead><tr><th>Effect</th><th>Of</th>"
      "<th class=\"n\">Learnt of</th><th class=\"n\">Prior variance</th>"
      "<th>Largest (of features: length of the mean)</th></tr></thead><tbody>\n";
  for (const EffectLook& effect : effects) table += EffectRow(effect);
  return table + "</tbody></table></div>\n";
}

using Figure = std::function<std::optional<double>(const Sample&)>;

Chart ChartOf(const std::vector<Sample>& samples, std::string title, std::string unit,
              const std::vector<std::pair<std::string, Figure>>& figures) {
  Chart chart{.title = std::move(title), .unit = std::move(unit)};
  for (const Sample& sample : samples) chart.times.push_back(sample.at);
  for (const auto& [name, figure] : figures) {
    ChartLine line{.name = name};
    for (const Sample& sample : samples) line.values.push_back(figure(sample));
    chart.lines.push_back(std::move(line));
  }
  return chart;
}

std::optional<double> Micros(const std::optional<double>& seconds) {
  if (!seconds) return std::nullopt;
  return 1e6 * *seconds;
}

std::string ServerCharts(const std::vector<Sample>& samples) {
  return absl::StrCat(
      "<h2>Server</h2>\n<div class=\"charts\">\n",
      ToSvg(ChartOf(samples, "Throughput", "calls per second",
                    {{"select", [](const Sample& s) { return s.selections_per_second; }},
                     {"report", [](const Sample& s) { return s.reports_per_second; }}})),
      ToSvg(ChartOf(samples, "Latency in the server", "microseconds",
                    {{"select p50", [](const Sample& s) { return Micros(s.select_p50); }},
                     {"select p99", [](const Sample& s) { return Micros(s.select_p99); }},
                     {"report p50", [](const Sample& s) { return Micros(s.report_p50); }},
                     {"report p99", [](const Sample& s) { return Micros(s.report_p99); }}})),
      ToSvg(ChartOf(samples, "Resident memory", "MiB",
                    {{"memory",
                      [](const Sample& s) {
                        return static_cast<double>(s.resident_bytes) / (1024.0 * 1024.0);
                      }}})),
      "</div>\n");
}

std::string ModelCharts(const ModelView& model, const std::vector<Sample>& samples) {
  const auto of = [&model](auto field) -> Figure {
    return [&model, field](const Sample& sample) -> std::optional<double> {
      const auto found = sample.models.find(model.name);
      if (found == sample.models.end()) return std::nullopt;
      return found->second.*field;
    };
  };
  const bool shows_rewards = model.mechanism.empty();
  return absl::StrCat(
      "<h2>", Escape(model.name), "</h2>\n<div class=\"charts\">\n",
      ToSvg(ChartOf(samples, "Reports applied", "per second",
                    {{"reports", of(&ModelSample::reports_per_second)}})),
      shows_rewards
          ? ToSvg(ChartOf(samples, "Reward", "mean of the reports, reward units",
                          {{"reward", of(&ModelSample::reward_mean)}}))
          : ToSvg(ChartOf(samples, "Released posterior", "mean |m|, reward per feature unit",
                          {{"posterior", of(&ModelSample::posterior_norm)}})),
      "</div>\n", EffectsTable(model.looks));
}

// Charts of so many models; the table has all.
constexpr std::size_t kModelsCharted = 12;

}  // namespace

std::string StatusPage(const ServerView& view, const std::vector<Sample>& samples, absl::Time now) {
  std::string charts = ServerCharts(samples);
  for (std::size_t i = 0; i < std::min(view.models.size(), kModelsCharted); ++i)
    charts += ModelCharts(view.models[i], samples);
  const absl::Duration up = absl::Trunc(now - view.started, absl::Seconds(1));
  return absl::StrCat(
      ToAbsl(kHead), "<h1>bandana-server</h1>\n<p class=\"about\">version ", Escape(view.version),
      " &middot; up ", absl::FormatDuration(up), " &middot; ", view.models.size(),
      view.models.size() == 1 ? " model" : " models", " &middot; ", view.calls_in_flight,
      " calls in flight", view.draining ? " &middot; <span class=\"warn\">draining</span>" : "",
      "</p>\n", Table(view.models), charts,
      "<footer>Version is the log entry that the published posterior ends at; lag counts durable "
      "entries that are not applied yet. Charts go back an hour, a sample every five seconds. "
      "Rewards are shown of "
      "non-private models only. <a href=\"/metrics\">metrics</a> &middot; "
      "<a href=\"/healthz\">healthz</a> &middot; <a href=\"/readyz\">readyz</a></footer>\n"
      "</body></html>\n");
}

}  // namespace bandana::server
