#include "tools/judge/evaluate_answer.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_format.h"
#include "common/base/status.h"
#include "tools/base/gnuplot.h"
#include "tools/base/json.h"

namespace bandana {
namespace {

constexpr int kRowPixels = 34;
constexpr int kFramePixels = 110;

std::string TimeText(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E*SZ", time, absl::UTCTimeZone());
}

std::string NumberText(std::optional<double> number) {
  return number ? absl::StrFormat("%.4f", *number) : "-";
}

std::string Label(const JudgementRow& row) {
  const std::string against = row.against.empty() ? "" : absl::StrCat(" - ", row.against);
  return absl::StrCat(row.policy, against, ", ", ToAbsl(EstimatorName(row.estimator)));
}

void WriteOptional(const char* key, std::optional<double> number, JsonWriter& json) {
  // JSON has null for what is not a number.
  json.Key(key).Number(number.value_or(std::nan("")));
}

void WriteText(const char* key, const std::string& text, JsonWriter& json) {
  json.Key(key);
  if (text.empty()) {
    json.Number(std::nan(""));
  } else {
    json.Text(text);
  }
}

void WriteLog(const Evaluation& evaluation, JsonWriter& json) {
  json.Key("log").BeginObject();
  json.Key("lines").Integer(evaluation.lines);
  json.Key("used").Integer(evaluation.used);
  json.Key("skipped").BeginObject();
  for (const auto& [reason, count] : evaluation.skipped) json.Key(reason).Integer(count);
  json.EndObject();
  WriteText("from", evaluation.from ? TimeText(*evaluation.from) : "", json);
  WriteText("to", evaluation.to ? TimeText(*evaluation.to) : "", json);
  WriteText("reward", evaluation.reward, json);
  WriteOptional("epsilon", evaluation.epsilon, json);
  WriteText("propensities", evaluation.propensities, json);
  json.EndObject();
}

void WriteRow(const JudgementRow& row, JsonWriter& json) {
  json.BeginObject();
  json.Key("policy").Text(row.policy);
  WriteText("against", row.against, json);
  json.Key("estimator").Text(EstimatorName(row.estimator));
  json.Key("interval").Text(row.interval);
  WriteOptional("value", row.value, json);
  WriteOptional("low", row.low, json);
  WriteOptional("high", row.high, json);
  json.Key("confidence").Number(row.confidence);
  json.Key("decisions").Integer(row.decisions);
  json.Key("effective_decisions").Number(row.effective_decisions);
  json.Key("terms").Number(row.terms);
  json.Key("weight_mean").Number(row.weight_mean);
  json.Key("weight_max").Number(row.weight_max);
  json.Key("uncovered").Number(row.uncovered);
  json.Key("note").Text(row.note);
  json.EndObject();
}

// Columns as wide as their widest cell; the first one to the left, the others to the right.
std::string Table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths(rows[0].size());
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string blanks(widths[i] - row[i].size(), ' ');
      absl::StrAppend(&text, i == 0 ? "" : "  ", i == 0 ? row[i] : blanks,
                      i == 0 ? blanks : row[i]);
    }
    while (text.back() == ' ') text.pop_back();
    text += '\n';
  }
  return text;
}

}  // namespace

std::string EvaluationText(const Evaluation& evaluation) {
  std::string text = absl::StrCat("lines ", evaluation.lines, ", used ", evaluation.used);
  for (const auto& [reason, count] : evaluation.skipped) {
    absl::StrAppend(&text, ", ", reason, " ", count);
  }
  if (evaluation.from) {
    absl::StrAppend(&text, "\nfrom ", TimeText(*evaluation.from), " to ", TimeText(*evaluation.to));
  }
  if (!evaluation.reward.empty()) absl::StrAppend(&text, "\nrewards: ", evaluation.reward);
  if (evaluation.epsilon) absl::StrAppend(&text, ", epsilon ", *evaluation.epsilon);
  if (!evaluation.propensities.empty()) {
    absl::StrAppend(&text, "; propensities: ", evaluation.propensities);
  }
  absl::StrAppend(&text, "\n\n");
  if (!evaluation.error.empty()) {
    return absl::StrCat(text, "cannot be judged: ", evaluation.error, "\n");
  }
  std::vector<std::vector<std::string>> rows = {
      {"policy", "value", "low", "high", "interval", "decisions", "effective"}};
  std::string notes;
  for (const JudgementRow& row : evaluation.rows) {
    rows.push_back({Label(row), NumberText(row.value), NumberText(row.low), NumberText(row.high),
                    std::string(row.interval), absl::StrCat(row.decisions),
                    absl::StrFormat("%.0f", row.effective_decisions)});
    if (!row.note.empty()) absl::StrAppend(&notes, Label(row), ": ", row.note, "\n");
  }
  return absl::StrCat(text, Table(rows), notes.empty() ? "" : "\n", notes);
}

std::string EvaluationJson(const Evaluation& evaluation) {
  JsonWriter json;
  json.BeginObject();
  WriteLog(evaluation, json);
  json.Key("rows").BeginArray();
  for (const JudgementRow& row : evaluation.rows) WriteRow(row, json);
  json.EndArray();
  WriteText("error", evaluation.error, json);
  json.EndObject();
  return json.Take();
}

absl::Status DrawEvaluation(const Evaluation& evaluation, const std::string& path) {
  const std::vector<JudgementRow>& rows = evaluation.rows;
  std::string labels, data;
  const bool differences = !rows.empty() && !rows[0].against.empty();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const JudgementRow& row = rows[i];
    const auto y = static_cast<double>(rows.size() - i);
    absl::StrAppend(&labels, i == 0 ? "" : ", ", QuotedForGnuplot(Label(row)), " ", y);
    if (!row.value && !row.low) continue;
    const double low = row.low.value_or(*row.value), high = row.high.value_or(*row.value);
    absl::StrAppend(&data, row.value.value_or((low + high) / 2), " ", y, " ", low, " ", high, " ",
                    row.value ? 1 : 0, "\n");
  }
  if (data.empty()) return FailedPrecondition("--plot: there is no row to draw");
  const std::string script = absl::StrCat(
      "unset key\nset border 1\nset xtics nomirror\nset grid xtics lc rgb '#dddddd'\n",
      "set yrange [0.4:", static_cast<double>(rows.size()) + 0.6, "]\nset ytics (", labels,
      ") nomirror scale 0\nset xlabel ",
      QuotedForGnuplot(differences ? "difference of mean rewards" : "mean reward"),
      "\n$rows << EOD\n", data, "EOD\n",
      differences ? "set arrow from 0, graph 0 to 0, graph 1 nohead lc rgb '#999999'\n" : "",
      "plot $rows using 1:2:3:4 with xerrorbars lw 2 pt 0 lc rgb '#1f77b4', ",
      "$rows using ($5 > 0 ? $1 : 1/0):2 with points pt 7 ps 0.8 lc rgb '#1f77b4'\n");
  return DrawSvg(
      path, script,
      {.width = 760, .height = kFramePixels + kRowPixels * static_cast<int>(rows.size())});
}

}  // namespace bandana
