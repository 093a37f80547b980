#include "server/ops/observation/series_charts.h"

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/ops/observation/chart.h"

namespace bandana::server {
namespace {

template <typename Record>
using Figure = std::function<std::optional<double>(const Record&)>;

template <typename Record>
ChartLine LineOf(const std::vector<Record>& records, std::string name,
                 const Figure<Record>& figure) {
  ChartLine line{.name = std::move(name)};
  line.values.reserve(records.size());
  for (const Record& record : records) line.values.push_back(figure(record));
  return line;
}

std::vector<absl::Time> Times(const Series& series) {
  std::vector<absl::Time> times;
  times.reserve(series.samples.size());
  for (const Sample& sample : series.samples) times.push_back(sample.at);
  return times;
}

std::optional<double> Micros(const std::optional<double>& seconds) {
  if (!seconds) return std::nullopt;
  return 1e6 * *seconds;
}

std::string Charts(const std::vector<Chart>& charts) {
  // All have the same times. Empty charts would fill a window.
  if (charts[0].times.size() < 2) return "<p class=\"about\">no samples yet</p>\n";
  std::string html = "<div class=\"charts\">\n";
  for (const Chart& chart : charts) html += ToSvg(chart);
  return html + "</div>\n";
}

}  // namespace

std::string ServerCharts(const Series& series) {
  const auto line = [&series](std::string name, const Figure<Sample>& figure) {
    return LineOf(series.samples, std::move(name), figure);
  };
  const std::vector<absl::Time> times = Times(series);
  return Charts(
      {{.title = "Throughput",
        .unit = "calls per second",
        .times = times,
        .lines = {line("select", [](const Sample& s) { return s.selections_per_second; }),
                  line("report", [](const Sample& s) { return s.reports_per_second; })}},
       {.title = "Latency in the server",
        .unit = "microseconds",
        .times = times,
        .lines = {line("select p50", [](const Sample& s) { return Micros(s.select_p50); }),
                  line("select p99", [](const Sample& s) { return Micros(s.select_p99); }),
                  line("report p50", [](const Sample& s) { return Micros(s.report_p50); }),
                  line("report p99", [](const Sample& s) { return Micros(s.report_p99); })}},
       {.title = "Resident memory",
        .unit = "MiB",
        .times = times,
        .lines = {line("memory", [](const Sample& s) {
          return static_cast<double>(s.resident_bytes) / (1024.0 * 1024.0);
        })}}});
}

std::string ModelCharts(const ModelView& model, const Series& series) {
  const auto found = series.models.find(model.name);
  // A model of this second has no samples yet.
  const std::vector<absl::Time> times =
      found == series.models.end() ? std::vector<absl::Time>() : Times(series);
  const auto chart = [&](const char* title, const char* unit, auto field) {
    Chart out{.title = title, .unit = unit, .times = times};
    if (times.empty()) return out;
    out.lines = {LineOf<ModelSample>(found->second, "", [field](const ModelSample& sample) {
      const std::optional<float>& value = sample.*field;
      return value ? std::optional<double>(*value) : std::nullopt;
    })};
    return out;
  };
  const bool shows_rewards = model.mechanism.empty();
  return Charts({chart("Reports applied", "per second", &ModelSample::reports_per_second),
                 shows_rewards ? chart("Reward", "mean of the reports, reward units",
                                       &ModelSample::reward_mean)
                               : chart("Released posterior", "mean |m|, reward per feature unit",
                                       &ModelSample::posterior_norm),
                 chart("Lag", "durable entries that wait to be learnt", &ModelSample::apply_lag)});
}

}  // namespace bandana::server
