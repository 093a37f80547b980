#include "research/lab/figure.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/status.h"
#include "research/lab/output.h"
#include "tools/base/gnuplot.h"

namespace bandana::lab {
namespace {

struct Sample {
  double x = 0;
  MeanInterval y;
};

struct Series {
  std::string title;
  std::string colour;
  bool dashed = false;
  bool rings = false;  // no line: it lies on another
  std::vector<Sample> samples;
};

struct Panel {
  std::string title;
  std::string x_label;
  std::string y_label;
  bool x_log = false;
  bool y_log = false;
  bool curves = false;  // many points: lines without marks
  std::vector<Series> series;
};

struct Extent {
  double low = std::numeric_limits<double>::infinity();
  double high = 0;
};

Extent ExtentOf(const Panel& panel, bool of_x) {
  Extent extent;
  for (const Series& series : panel.series) {
    for (const Sample& sample : series.samples) {
      const double value = of_x ? sample.x : sample.y.mean;
      // Early points of a curve on a logarithmic axis would only stretch it.
      const bool early = sample.x < 0.02 * series.samples.back().x;
      if (!of_x && panel.curves && panel.y_log && !panel.x_log && early) continue;
      const bool drawn = of_x || !panel.y_log || value > 0;
      if (!drawn) continue;
      extent.low = std::min(extent.low, value);
      extent.high = std::max(extent.high, value);
    }
  }
  return extent;
}

// Okabe and Ito's colours, told apart also by the colour-blind.
constexpr const char* kColours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                    "#e69f00", "#56b4e9", "#000000", "#8c564b"};
constexpr char kGrey[] = "#888888";

std::string ColourOfLabel(const std::string& label) {
  static const std::map<std::string, std::string> colours = {{"published", "#d55e00"},
                                                             {"published-l2", "#e69f00"},
                                                             {"counter", "#0072b2"},
                                                             {"central", "#0072b2"},
                                                             {"shaped", "#56b4e9"},
                                                             {"randomizer", "#009e73"},
                                                             {"centred", "#cc79a7"},
                                                             {"auto", "#000000"},
                                                             {"proven", "#000000"},
                                                             {"gaussian", "#0072b2"},
                                                             {"privunit", "#009e73"},
                                                             {"published-joint", "#e69f00"},
                                                             {"proven-forgetting", "#0072b2"},
                                                             {"published-repaired", "#cc79a7"},
                                                             {"random", kGrey}};
  const auto found = colours.find(label);
  return found == colours.end() ? kGrey : found->second;
}

const Contender& ContenderOf(const Suite& suite, const Group& group) {
  static const Contender unknown;
  for (const Contender& contender : suite.contenders) {
    if (contender.name == group.cell.algorithm) return contender;
  }
  return unknown;
}

std::string TitleOf(const Group& group) {
  if (group.cell.algorithm == "random") return "random";
  std::string title = absl::StrCat(group.cell.algorithm, ", ", group.cell.label);
  if (group.cell.epsilon.has_value()) absl::StrAppend(&title, ", eps ", *group.cell.epsilon);
  return title;
}

// One line a group, over the rounds.
std::vector<Series> CurveSeries(const std::vector<Group>& groups, double Point::*value) {
  std::vector<Series> all;
  std::size_t coloured = 0;
  for (const Group& group : groups) {
    Series series{.title = TitleOf(group), .colour = kGrey};
    series.dashed = !group.cell.epsilon.has_value();
    if (group.cell.algorithm != "random")
      series.colour = kColours[coloured++ % std::size(kColours)];
    const std::vector<Point>& rounds = group.runs.front()->curve;
    for (std::size_t i = 0; i < rounds.size(); ++i) {
      std::vector<double> values;
      for (const CellResult* run : group.runs) values.push_back(run->curve[i].*value);
      series.samples.push_back({static_cast<double>(rounds[i].round), MeanOf(values)});
    }
    all.push_back(std::move(series));
  }
  return all;
}

// The exponent of growth over the last decade of x: the least-squares slope of log y on log x.
// Nothing where fewer than three positive samples lie there.
std::optional<double> FittedExponent(const std::vector<Sample>& samples) {
  double n = 0;
  double sx = 0;
  double sy = 0;
  double sxx = 0;
  double sxy = 0;
  for (const Sample& sample : samples) {
    if (!(sample.y.mean > 0) || sample.x < 0.1 * samples.back().x) continue;
    const double x = std::log(sample.x);
    const double y = std::log(sample.y.mean);
    n += 1;
    sx += x;
    sy += y;
    sxx += x * x;
    sxy += x * y;
  }
  const double spread = n * sxx - sx * sx;
  if (n < 3 || !(spread > 0)) return std::nullopt;
  return (n * sxy - sx * sy) / spread;
}

void NameExponents(std::vector<Series>& all) {
  for (Series& series : all) {
    const std::optional<double> exponent = FittedExponent(series.samples);
    if (exponent.has_value()) absl::StrAppendFormat(&series.title, " ~ T^%.2f", *exponent);
  }
}

// `value` of every group against `x`, one line an algorithm and label (and epsilon, unless that
// is x).
std::vector<Series> FinalSeries(const std::vector<Group>& groups,
                                const std::function<double(const Group&)>& x,
                                const std::function<MeanInterval(const Group&)>& value,
                                bool by_epsilon = false) {
  std::vector<Series> series;
  std::map<std::string, std::size_t> places;
  for (const Group& group : groups) {
    const std::string title =
        by_epsilon ? absl::StrCat(group.cell.algorithm, ", ", group.cell.label) : TitleOf(group);
    const auto [place, is_new] = places.try_emplace(title, series.size());
    if (is_new) {
      series.push_back({.title = title, .colour = kColours[series.size() % std::size(kColours)]});
      series.back().dashed = !group.cell.epsilon.has_value();
    }
    series[place->second].samples.push_back({x(group), value(group)});
  }
  return series;
}

// A panel a private algorithm: its labels, the random policy and the same model without privacy.
std::vector<Panel> ByEpsilon(const Suite& suite, const std::vector<Group>& groups) {
  std::set<double> epsilons;
  for (const Group& group : groups) {
    if (group.cell.epsilon.has_value()) epsilons.insert(*group.cell.epsilon);
  }
  std::vector<Panel> panels;
  std::map<std::string, std::size_t> places;
  for (const Group& group : groups) {
    const std::string& algorithm = group.cell.algorithm;
    if (!group.cell.epsilon.has_value()) continue;
    const auto [place, is_new] = places.try_emplace(algorithm, panels.size());
    if (is_new) {
      panels.push_back({.title = algorithm,
                        .x_label = "epsilon of one event",
                        .y_label = "regret at the horizon (reward units)",
                        .x_log = true,
                        .y_log = true});
      for (const Group& other : groups) {
        const bool same_model = other.cell.algorithm == algorithm ||
                                other.cell.algorithm == ContenderOf(suite, group).reference;
        if (other.cell.epsilon.has_value() || !(other.cell.label == "random" || same_model))
          continue;
        Series level{.title = TitleOf(other), .colour = kGrey, .dashed = true};
        for (const double at : epsilons) level.samples.push_back({at, FinalOf(other, "")});
        panels.back().series.push_back(std::move(level));
      }
    }
    std::vector<Series>& series = panels[place->second].series;
    if (series.empty() || series.back().title != group.cell.label) {
      series.push_back({.title = group.cell.label,
                        .colour = ColourOfLabel(group.cell.label),
                        .rings = group.cell.label == "auto"});
    }
    series.back().samples.push_back({group.epsilon(), FinalOf(group, "")});
  }
  return panels;
}

// A panel each of the contenders' panels; those without one stand in all.
std::vector<Panel> ByRound(const Suite& suite, const Experiment& experiment,
                           const std::vector<Group>& groups) {
  const bool growth = experiment.figure == Figure::kRegretGrowth;
  std::vector<std::string_view> titles;
  for (const Group& group : groups) {
    const std::string_view title = ContenderOf(suite, group).panel;
    if (!title.empty() && std::find(titles.begin(), titles.end(), title) == titles.end())
      titles.push_back(title);
  }
  if (titles.empty()) titles.push_back(experiment.title);
  std::vector<Panel> panels;
  for (const std::string_view title : titles) {
    std::vector<Group> part;
    for (const Group& group : groups) {
      const std::string_view panel = ContenderOf(suite, group).panel;
      if (panel.empty() || panel == title) part.push_back(group);
    }
    panels.push_back({.title = std::string(title),
                      .x_label = "rounds",
                      .y_label = "cumulative regret (reward units)",
                      .x_log = growth,
                      .y_log = true,
                      .curves = true,
                      .series = CurveSeries(part, &Point::regret)});
    if (growth) NameExponents(panels.back().series);
  }
  return panels;
}

std::vector<Panel> ByHorizon(const Experiment& experiment, const std::vector<Group>& groups) {
  std::vector<Series> series = FinalSeries(
      groups, [](const Group& g) { return static_cast<double>(g.cell.horizon); },
      [](const Group& g) {
        MeanInterval rate = FinalOf(g, "");
        rate.mean /= static_cast<double>(g.cell.horizon);
        rate.half_width /= static_cast<double>(g.cell.horizon);
        return rate;
      });
  for (Series& one : series) {
    one.rings = one.title.find("auto") != std::string::npos;
    if (one.rings) one.colour = "#000000";
  }
  return {{.title = std::string(experiment.title),
           .x_label = "events of the user",
           .y_label = "regret per event (reward units)",
           .x_log = true,
           .y_log = true,
           .series = std::move(series)}};
}

double SweptOf(const Experiment& experiment, const Group& group) {
  if (experiment.sweep == "epsilon") return group.epsilon();
  if (experiment.sweep == "horizon") return static_cast<double>(group.cell.horizon);
  double value = 0;
  const auto found = group.cell.settings.find(std::string(experiment.sweep));
  if (found == group.cell.settings.end() || !absl::SimpleAtod(found->second, &value)) return 0;
  return value;
}

// The papers' proven rates, as lines through the middle of where the panel begins.
void AddGuides(const Suite& suite, const std::vector<Group>& groups, Panel& panel) {
  std::set<double> exponents;
  for (const Group& group : groups) exponents.insert(ContenderOf(suite, group).exponent);
  exponents.erase(0);
  double logs = 0;
  for (const Series& series : panel.series) logs += std::log(series.samples.front().y.mean);
  const double start = std::exp(logs / static_cast<double>(panel.series.size()));
  const std::vector<Sample> rounds = panel.series.front().samples;
  for (const double exponent : exponents) {
    Series guide{.title = absl::StrFormat("the paper: T^%.2f", exponent), .colour = kGrey};
    guide.dashed = true;
    for (const Sample& at : rounds) {
      guide.samples.push_back({at.x, {.mean = start * std::pow(at.x / rounds[0].x, exponent)}});
    }
    panel.series.push_back(std::move(guide));
  }
}

// One panel of one setting. Groups without an epsilon are drawn level where epsilon is swept.
Panel OneSweep(const Suite& suite, const Experiment& experiment, const std::string& title,
               const std::vector<Group>& all) {
  const bool by_epsilon = experiment.sweep == "epsilon";
  std::vector<Group> groups;
  for (const Group& group : all) {
    if (!by_epsilon || group.cell.epsilon.has_value()) {
      groups.push_back(group);
      continue;
    }
    std::set<double> epsilons;
    for (const Group& other : all) {
      if (other.cell.epsilon.has_value()) epsilons.insert(other.epsilon());
    }
    for (const double epsilon : epsilons) {
      groups.push_back(group);
      groups.back().cell.epsilon = epsilon;
    }
  }
  Panel panel{.title = title,
              .x_label = std::string(experiment.sweep),
              .y_label = experiment.value.empty() ? "regret at the horizon (reward units)"
                                                  : std::string(experiment.value_meaning)};
  panel.series = FinalSeries(
      groups, [&](const Group& g) { return SweptOf(experiment, g); },
      [&](const Group& g) { return FinalOf(g, experiment.value); }, by_epsilon);
  const Extent x = ExtentOf(panel, true);
  const Extent y = ExtentOf(panel, false);
  panel.x_log = x.low > 0 && x.high >= 8 * x.low;
  panel.y_log = y.low > 0 && y.high >= 8 * y.low;
  if (experiment.sweep == "horizon" && experiment.value.empty() && panel.x_log && panel.y_log) {
    NameExponents(panel.series);
    AddGuides(suite, groups, panel);
  }
  return panel;
}

std::vector<Panel> BySweep(const Suite& suite, const Experiment& experiment,
                           const std::vector<Group>& groups) {
  // The settings in which groups differ, other than what is swept.
  std::vector<Group> rest = groups;
  for (Group& group : rest) group.cell.settings.erase(std::string(experiment.sweep));
  std::vector<std::string> titles;
  for (const Group& group : rest) {
    std::string title = SettingOf(group, rest);
    if (std::find(titles.begin(), titles.end(), title) == titles.end())
      titles.push_back(std::move(title));
  }
  std::vector<Panel> panels;
  for (const std::string& title : titles) {
    std::vector<Group> part;
    for (std::size_t i = 0; i < groups.size(); ++i) {
      if (SettingOf(rest[i], rest) == title) part.push_back(groups[i]);
    }
    const std::string full =
        absl::StrCat(ToAbsl(experiment.title), title.empty() ? "" : ", ", title);
    panels.push_back(OneSweep(suite, experiment, full, part));
  }
  return panels;
}

std::vector<Panel> RewardByRound(const std::vector<Group>& groups) {
  return {{.title = "cumulative reward",
           .x_label = "rounds",
           .y_label = "cumulative reward (arms that the user had)",
           .curves = true,
           .series = CurveSeries(groups, &Point::reward)}};
}

std::vector<Panel> PanelsOf(const Suite& suite, const Experiment& experiment,
                            const std::vector<Group>& groups) {
  const bool any_epsilon = std::any_of(groups.begin(), groups.end(), [](const Group& group) {
    return group.cell.epsilon.has_value();
  });
  switch (experiment.figure) {
    case Figure::kRegretByEpsilon:
      return any_epsilon ? ByEpsilon(suite, groups) : ByRound(suite, experiment, groups);
    case Figure::kRegretByRound:
    case Figure::kRegretGrowth:
      return ByRound(suite, experiment, groups);
    case Figure::kRegretByHorizon:
      return ByHorizon(experiment, groups);
    case Figure::kSweep:
      return BySweep(suite, experiment, groups);
    case Figure::kRewardByRound:
      break;
  }
  return RewardByRound(groups);
}

// 1, 2 and 5 times the powers of ten, or these alone where there would be many.
std::string LogTicks(const Extent& extent) {
  std::string ticks = "(";
  for (int power = -7; power <= 9; ++power) {
    for (const int digit : {1, 2, 5}) {
      if (digit > 1 && extent.high > 1000 * extent.low) continue;
      absl::StrAppend(&ticks, ticks.size() > 1 ? "," : "", digit, "e", power);
    }
  }
  return ticks + ")";
}

// Scale, limits and marks of an axis of positive values.
std::string AxisOf(const Panel& panel, bool of_x) {
  const char* name = of_x ? "x" : "y";
  const Extent extent = ExtentOf(panel, of_x);
  if (of_x ? panel.x_log : panel.y_log) {
    return absl::StrFormat("set logscale %s\nset %srange [%.6g:%.6g]\nset %stics %s\n", name, name,
                           extent.low / 1.25, extent.high * 1.25, name, LogTicks(extent));
  }
  const std::string end = of_x ? absl::StrCat(extent.high * 1.02) : "*";
  return absl::StrFormat("unset logscale %s\nset %srange [0:%s]\nset %stics autofreq\n", name, name,
                         end, name);
}

void AppendSeries(const Series& series, const std::string& block, bool curves,
                  std::vector<std::string>& plots) {
  const std::string colour = absl::StrCat(" lc rgb '", series.colour, "' ");
  const std::string title = absl::StrCat("title ", QuotedForGnuplot(series.title));
  if (series.rings) {
    plots.push_back(absl::StrCat(block, " using 1:2 with points pt 6 ps 1.6 lw 2", colour, title));
    return;
  }
  plots.push_back(absl::StrCat(block, " using 1:3:4 with filledcurves fs transparent solid 0.12",
                               colour, "notitle"));
  plots.push_back(absl::StrCat(block, " using 1:2 with ",
                               curves ? "lines" : "linespoints pt 7 ps 0.5", " lw 2 dt ",
                               series.dashed ? 2 : 1, colour, title));
}

std::string ScriptOf(const std::vector<Panel>& panels, int columns) {
  std::string data;
  std::string commands;
  int number = 0;
  for (const Panel& panel : panels) {
    std::vector<std::string> plots;
    for (const Series& series : panel.series) {
      const std::string block = absl::StrCat("$s", number++);
      absl::StrAppend(&data, block, " << END\n");
      for (const Sample& sample : series.samples) {
        // A band that reaches 0 ends just above it, where logarithms exist.
        absl::StrAppendFormat(&data, "%.9g %.9g %.9g %.9g\n", sample.x, sample.y.mean,
                              std::max(sample.y.mean - sample.y.half_width, 1e-3 * sample.y.mean),
                              sample.y.mean + sample.y.half_width);
      }
      data += "END\n";
      AppendSeries(series, block, panel.curves, plots);
    }
    absl::StrAppend(&commands, AxisOf(panel, true), AxisOf(panel, false), "set title ",
                    QuotedForGnuplot(panel.title), "\nset xlabel ", QuotedForGnuplot(panel.x_label),
                    "\nset ylabel ", QuotedForGnuplot(panel.y_label), "\nplot ");
    for (std::size_t i = 0; i < plots.size(); ++i)
      absl::StrAppend(&commands, i == 0 ? "" : ", \\\n  ", plots[i]);
    commands += "\n";
  }
  const int rows = (static_cast<int>(panels.size()) + columns - 1) / columns;
  return absl::StrCat(
      data,
      "set key outside right center vertical reverse Left samplen 2 font ',11'\n"
      "set grid lc rgb '#dddddd'\nset tics nomirror\nset format x '%g'\nset format y '%g'\n"
      "set multiplot layout ",
      rows, ",", columns, "\n", commands, "unset multiplot\n");
}

}  // namespace

absl::Status DrawFigure(const Suite& suite, const Experiment& experiment,
                        std::span<const CellResult> results, const std::string& path) {
  std::vector<Panel> panels = PanelsOf(suite, experiment, GroupBySeed(results));
  std::erase_if(panels, [](const Panel& panel) { return panel.series.empty(); });
  if (panels.empty()) return InvalidArgument("there is no run to draw");
  const int columns = panels.size() > 2 ? 2 : 1;
  const int rows = (static_cast<int>(panels.size()) + columns - 1) / columns;
  return DrawSvg(path, ScriptOf(panels, columns),
                 {.width = columns == 1 ? 950 : 1300, .height = 20 + 420 * rows});
}

}  // namespace bandana::lab
