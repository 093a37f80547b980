#include "research/lab/output.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tools/base/json.h"

namespace bandana::lab {
namespace {

// 97.5 % quantiles of Student's t with 1, 2, ... degrees of freedom; above them the normal's.
constexpr double kStudent[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262};

std::string Shortest(const std::optional<double>& value) {
  return value.has_value() ? absl::StrCat(*value) : "";
}

std::string Quoted(const std::string& text) {
  return text.find(',') == std::string::npos ? text : absl::StrCat("\"", text, "\"");
}

std::vector<double> Finals(const Group& group, double CellResult::*field) {
  std::vector<double> values;
  for (const CellResult* run : group.runs) values.push_back(run->*field);
  return values;
}

void WriteInterval(JsonWriter& json, const MeanInterval& interval) {
  json.BeginObject().Key("mean").Number(interval.mean);
  json.Key("half_width_95").Number(interval.half_width).EndObject();
}

void WriteGroup(JsonWriter& json, const Group& group) {
  const CellResult& first = *group.runs.front();
  json.BeginObject();
  json.Key("algorithm").Text(group.cell.algorithm).Key("label").Text(group.cell.label);
  if (group.cell.epsilon.has_value()) json.Key("epsilon").Number(*group.cell.epsilon);
  if (group.cell.delta.has_value()) json.Key("delta").Number(*group.cell.delta);
  json.Key("mechanism").Text(first.mechanism);
  json.Key("dimension").Integer(first.dimension).Key("users").Integer(first.users);
  json.Key("arms").Integer(first.arms).Key("horizon").Integer(group.cell.horizon);
  json.Key("seeds").Integer(group.runs.size());
  json.Key("regret");
  WriteInterval(json, MeanOf(Finals(group, &CellResult::regret)));
  json.Key("reward");
  WriteInterval(json, MeanOf(Finals(group, &CellResult::reward)));
  json.Key("random_regret");
  WriteInterval(json, MeanOf(Finals(group, &CellResult::random_regret)));
  for (const auto& [name, value] : first.measures) {
    json.Key(name);
    WriteInterval(json, FinalOf(group, name));
  }
  if (!group.cell.settings.empty()) {
    json.Key("settings").BeginObject();
    for (const auto& [key, value] : group.cell.settings) json.Key(key).Text(value);
    json.EndObject();
  }
  json.Key("curve").BeginArray();
  for (std::size_t i = 0; i < first.curve.size(); ++i) {
    std::vector<double> regrets;
    std::vector<double> rewards;
    for (const CellResult* run : group.runs) {
      regrets.push_back(run->curve[i].regret);
      rewards.push_back(run->curve[i].reward);
    }
    const MeanInterval regret = MeanOf(regrets);
    const MeanInterval reward = MeanOf(rewards);
    json.BeginObject().Key("round").Integer(first.curve[i].round);
    json.Key("regret").Number(regret.mean).Key("regret_half_width_95").Number(regret.half_width);
    json.Key("reward").Number(reward.mean).Key("reward_half_width_95").Number(reward.half_width);
    json.EndObject();
  }
  json.EndArray().EndObject();
}

}  // namespace

MeanInterval FinalOf(const Group& group, std::string_view value) {
  if (value.empty()) return MeanOf(Finals(group, &CellResult::regret));
  std::vector<double> values;
  for (const CellResult* run : group.runs) {
    const auto found = run->measures.find(std::string(value));
    if (found != run->measures.end()) values.push_back(found->second);
  }
  return MeanOf(values);
}

std::string SettingOf(const Group& group, std::span<const Group> all) {
  std::string text;
  for (const auto& [key, value] : group.cell.settings) {
    const bool varies =
        std::any_of(all.begin(), all.end(), [&, &key = key, &value = value](const Group& other) {
          const auto found = other.cell.settings.find(key);
          return found == other.cell.settings.end() || found->second != value;
        });
    if (varies) absl::StrAppend(&text, text.empty() ? "" : " ", key, "=", value);
  }
  return text;
}

std::vector<Group> GroupBySeed(std::span<const CellResult> results) {
  using Key = std::tuple<std::string, std::string, std::optional<double>, std::optional<double>,
                         std::map<std::string, std::string>, std::uint64_t>;
  std::map<Key, std::size_t> places;
  std::vector<Group> groups;
  for (const CellResult& result : results) {
    const Cell& c = result.cell;
    const auto [place, is_new] = places.try_emplace(
        Key{c.algorithm, c.label, c.epsilon, c.delta, c.settings, c.horizon}, groups.size());
    if (is_new) groups.push_back({c, {}});
    groups[place->second].runs.push_back(&result);
  }
  return groups;
}

MeanInterval MeanOf(std::span<const double> values) {
  MeanInterval interval;
  const std::size_t n = values.size();
  for (const double value : values) interval.mean += value / static_cast<double>(n);
  if (n < 2) return interval;
  double squares = 0;
  for (const double value : values) squares += (value - interval.mean) * (value - interval.mean);
  const double quantile = n - 2 < std::size(kStudent) ? kStudent[n - 2] : 1.96;
  interval.half_width =
      quantile * std::sqrt(squares / static_cast<double>(n - 1) / static_cast<double>(n));
  return interval;
}

std::string ToCsv(const Experiment& experiment, std::span<const CellResult> results) {
  std::set<std::string> measures;
  for (const CellResult& r : results) {
    for (const auto& [name, value] : r.measures) measures.insert(name);
  }
  std::string csv =
      "experiment,algorithm,label,epsilon,delta,dimension,users,arms,horizon,seed,regret,reward,"
      "random_regret,seconds,mechanism,random_reward";
  for (const std::string& name : measures) absl::StrAppend(&csv, ",", name);
  csv += "\n";
  for (const CellResult& r : results) {
    absl::StrAppendFormat(&csv, "%s,%s,%s,%s,%s,%d,%d,%d,%d,%d,%.10g,%.10g,%.10g,%.3f,%s,%.10g",
                          std::string(experiment.name), r.cell.algorithm, r.cell.label,
                          Shortest(r.cell.epsilon), Shortest(r.cell.delta), r.dimension, r.users,
                          r.arms, r.cell.horizon, r.cell.seed, r.regret, r.reward, r.random_regret,
                          r.seconds, Quoted(r.mechanism), r.random_reward);
    for (const std::string& name : measures) {
      const auto found = r.measures.find(name);
      csv += ",";
      if (found != r.measures.end()) absl::StrAppendFormat(&csv, "%.10g", found->second);
    }
    csv += "\n";
  }
  return csv;
}

std::string ToJson(const Experiment& experiment, std::span<const CellResult> results) {
  JsonWriter json;
  json.BeginObject().Key("experiment").Text(experiment.name);
  json.Key("summary").Text(experiment.summary);
  json.Key("groups").BeginArray();
  for (const Group& group : GroupBySeed(results)) WriteGroup(json, group);
  json.EndArray().EndObject();
  return json.Take();
}

std::string ToTable(const Experiment& experiment, std::span<const CellResult> results) {
  const bool by_reward = experiment.figure == Figure::kRewardByRound;
  const std::vector<Group> groups = GroupBySeed(results);
  using Row = std::tuple<std::uint64_t, std::string, std::string, std::string, std::string>;
  std::vector<Row> rows;
  std::map<Row, std::map<double, MeanInterval>> table;
  std::set<double> epsilons;
  for (const Group& group : groups) {
    const Row row{group.cell.horizon, SettingOf(group, groups), group.cell.algorithm,
                  group.cell.label, Shortest(group.cell.delta)};
    if (!table.contains(row)) rows.push_back(row);
    table[row][group.epsilon()] =
        by_reward ? MeanOf(Finals(group, &CellResult::reward)) : FinalOf(group, experiment.value);
    if (group.cell.epsilon.has_value()) epsilons.insert(*group.cell.epsilon);
  }
  const std::string value = by_reward                  ? "reward"
                            : experiment.value.empty() ? "regret"
                                                       : std::string(experiment.value);
  std::string text = absl::StrFormat("%-14s %9s %-15s %-24s %-6s", "setting", "horizon",
                                     "algorithm", absl::StrCat("label (", value, ")"), "delta");
  for (const double epsilon : epsilons)
    absl::StrAppendFormat(&text, "%18s", absl::StrCat("eps ", epsilon));
  text += "\n";
  for (const Row& row : rows) {
    const auto& [horizon, setting, algorithm, label, delta] = row;
    absl::StrAppendFormat(&text, "%-14s %9d %-15s %-24s %-6s", setting, horizon, algorithm, label,
                          delta);
    for (const auto& [epsilon, interval] : table[row])
      absl::StrAppendFormat(&text, "%11.5g +-%5.2g", interval.mean, interval.half_width);
    text += "\n";
  }
  return text;
}

}  // namespace bandana::lab
