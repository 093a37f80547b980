#include "server/ops/observation/lift_section.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "server/models/lift.h"
#include "server/ops/observation/chart.h"
#include "server/ops/observation/html.h"

namespace bandana::server {
namespace {

std::string_view AgainstText(std::string_view against) {
  return against.empty()        ? "This policy"
         : against == "uniform" ? "Above any arm at random"
                                : "Above the arm listed first";
}

std::string LiftNumber(const std::optional<double>& value) {
  return value ? absl::StrFormat("%.4g", *value) : "-";
}

// Whether the interval says that there is a difference.
std::string DifferenceText(const LiftValueView& value) {
  if (value.against.empty()) return "";
  if (value.low && *value.low > 0) return "<span class=\"good\">better</span>";
  if (value.high && *value.high < 0) return "<span class=\"bad\">worse</span>";
  return "not seen yet";
}

std::string LiftRow(const LiftValueView& value) {
  return absl::StrCat("<tr><th class=\"name\" scope=\"row\">", Escape(AgainstText(value.against)),
                      "</th><td class=\"n\" data-label=\"Reward\">", LiftNumber(value.value),
                      "</td><td class=\"n\" data-label=\"Low\">", LiftNumber(value.low),
                      "</td><td class=\"n\" data-label=\"High\">", LiftNumber(value.high),
                      "</td><td>", DifferenceText(value), "</td></tr>\n");
}

std::string NeededText(const LiftView& lift) {
  if (!lift.needed) {
    return lift.values.front().value
               ? "How long a lift of 10 % over a choice at random would take cannot be said yet."
               : "Some arms had no chance, so their part is unknown: a uniform_share above 0 in "
                 "the "
                 "policy gives every arm one.";
  }
  if (*lift.needed == 0) return "A lift of 10 % over a choice at random would be seen by now.";
  return absl::StrCat("A lift of 10 % over a choice at random would be seen after some ",
                      Grouped(*lift.needed), " more decisions such as these.");
}

// Why there is nothing to say of the arm listed first.
std::string FirstText(const LiftView& lift) {
  const auto unknown = [](const LiftValueView& value) {
    return value.against == "first" && !value.low && !value.high;
  };
  if (std::none_of(lift.values.begin(), lift.values.end(), unknown)) return "";
  return " Nothing is known of the arm listed first: more arms are on offer than the log keeps; "
         "decision_log.arms_max says how many, up to 1000.";
}

Chart LiftChart(const LiftView& lift, std::size_t at) {
  Chart chart{.title = std::string(AgainstText(lift.values[at].against)), .unit = "reward"};
  ChartLine value{.name = "value"};
  ChartLine low{.name = "low"};
  ChartLine high{.name = "high"};
  for (const LiftPointView& point : lift.points) {
    chart.times.push_back(point.time);
    value.values.push_back(point.values[at].value);
    low.values.push_back(point.values[at].low);
    high.values.push_back(point.values[at].high);
  }
  chart.lines = {std::move(value), std::move(low), std::move(high)};
  return chart;
}

std::string LiftCharts(const LiftView& lift) {
  if (lift.points.size() < 2 || lift.points.front().time == lift.points.back().time) return "";
  std::string html = "<div class=\"charts\">\n";
  for (std::size_t at = 0; at < lift.values.size(); ++at) html += ToSvg(LiftChart(lift, at));
  return html + "</div>\n";
}

std::string DecisionsText(const LiftView& lift) {
  std::string text = absl::StrCat("Of ", Grouped(lift.decisions), " decisions since the start");
  if (lift.waiting > 0) {
    absl::StrAppend(&text, "; ", Grouped(lift.waiting), " wait for a reward, or for older ones");
  }
  if (lift.left_out > 0) absl::StrAppend(&text, "; ", Grouped(lift.left_out), " are left out");
  return text + ".";
}

}  // namespace

std::string LiftSection(const LiftView& lift) {
  std::string html = "<h3>Lift</h3>\n";
  if (!lift.none.empty()) {
    return absl::StrCat(html, "<p class=\"about\">", Escape(lift.none), ".</p>\n");
  }
  if (lift.decisions == 0) {
    return absl::StrCat(html, "<p class=\"about\">Nothing yet: ", Grouped(lift.first), " of ",
                        Grouped(Lift::kFirst), " decisions have chosen the form of the intervals; ",
                        Grouped(lift.waiting), " wait for a reward, or for older ones.</p>\n");
  }
  absl::StrAppend(&html,
                  "<div class=\"wide\"><table class=\"rows\"><thead><tr><th>Mean reward</th>"
                  "<th class=\"n\">Reward</th><th class=\"n\">Low</th><th class=\"n\">High</th>"
                  "<th>Difference</th></tr></thead><tbody>\n");
  for (const LiftValueView& value : lift.values) html += LiftRow(value);
  absl::StrAppend(&html, "</tbody></table></div>\n<p class=\"about\">", DecisionsText(lift), " ",
                  NeededText(lift), FirstText(lift),
                  " All intervals hold together with 95 %, whenever one looks.</p>\n",
                  LiftCharts(lift));
  return html;
}

}  // namespace bandana::server
