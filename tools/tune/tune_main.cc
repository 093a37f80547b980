#include "tools/tune/tune_main.h"

#include <cmath>
#include <string_view>

#include "absl/strings/str_format.h"
#include "common/base/exact_number.h"
#include "common/base/file.h"
#include "common/base/status.h"
#include "tools/base/json.h"
#include "tools/tune/evidence_picture.h"
#include "tools/tune/tune.h"

namespace bandana {
namespace {

constexpr int kExitFailure = 1;
constexpr int kExitUsage = 2;

absl::Status ReadFlag(std::string_view flag, const std::string& value, TuneOptions& options) {
  const std::optional<double> number = ReadExactNumber(value);
  if (flag == "log") {
    options.logs.push_back(value);
  } else if (flag == "config") {
    options.config = value;
  } else if (flag == "model") {
    options.model = value;
  } else if (flag == "json") {
    options.json = value;
  } else if (flag == "out") {
    options.out = value;
  } else if (flag == "plot") {
    options.plot = value;
  } else if (flag == "unreported") {
    if (!number) return InvalidArgument("--unreported takes a reward, got \"", value, "\"");
    options.unreported = number;
  } else if (flag == "confidence") {
    if (!number || !(*number > 0 && *number < 1)) {
      return InvalidArgument("--confidence takes a number in (0, 1), got \"", value, "\"");
    }
    options.confidence = *number;
  } else {
    return InvalidArgument("tune has no flag --", ToAbsl(flag));
  }
  return absl::OkStatus();
}

// `--flag value` or `--flag=value`; --log takes several values.
absl::StatusOr<TuneOptions> ParseOptions(std::span<const std::string> words) {
  TuneOptions options;
  std::string flag;  // whose value is due
  bool given = true;
  for (const std::string& word : words) {
    if (word.starts_with("--")) {
      if (!given) return InvalidArgument("--", flag, " needs a value");
      const std::size_t equals = word.find('=');
      flag = word.substr(2, equals == std::string::npos ? equals : equals - 2);
      given = equals != std::string::npos;
      if (given) BANDANA_RETURN_IF_ERROR(ReadFlag(flag, word.substr(equals + 1), options));
    } else {
      if (flag.empty() || (given && flag != "log")) {
        return InvalidArgument("tune takes flags alone, got \"", word, "\"");
      }
      BANDANA_RETURN_IF_ERROR(ReadFlag(flag, word, options));
      given = true;
    }
  }
  if (!given) return InvalidArgument("--", flag, " needs a value");
  if (options.logs.empty() || options.config.empty() || options.model.empty()) {
    return InvalidArgument("--log, --config and --model are required");
  }
  return options;
}

std::string NumberText(std::optional<double> number) {
  return number ? absl::StrFormat("%.4f", *number) : "-";
}

std::string Text(const Tuning& tuning) {
  std::string text =
      absl::StrFormat("%d decisions, replayed %d times\n", tuning.decisions, tuning.evaluations);
  for (std::size_t at = 0; at < tuning.candidates.size(); ++at) {
    const TuneCandidate& candidate = tuning.candidates[at];
    absl::StrAppendFormat(&text, "%s%s: evidence %.2f, value %s [%s, %s]\n",
                          at == tuning.best ? "* " : "  ", candidate.name, candidate.evidence,
                          NumberText(candidate.value), NumberText(candidate.low),
                          NumberText(candidate.high));
    for (const auto& [name, value] : candidate.parameters) {
      absl::StrAppendFormat(&text, "    %s: %.6g\n", name, value);
    }
    if (!candidate.note.empty()) absl::StrAppend(&text, "    ", candidate.note, "\n");
  }
  return text;
}

std::string Json(const Tuning& tuning) {
  JsonWriter json;
  const auto optional = [&](const char* key, std::optional<double> number) {
    json.Key(key).Number(number.value_or(std::nan("")));  // JSON has null for what is none
  };
  json.BeginObject();
  json.Key("decisions").Integer(static_cast<std::int64_t>(tuning.decisions));
  json.Key("replays").Integer(tuning.evaluations);
  json.Key("best").Text(tuning.candidates[tuning.best].name);
  json.Key("candidates").BeginArray();
  for (const TuneCandidate& candidate : tuning.candidates) {
    json.BeginObject();
    json.Key("name").Text(candidate.name);
    json.Key("parameters").BeginObject();
    for (const auto& [name, value] : candidate.parameters) json.Key(name).Number(value);
    json.EndObject();
    json.Key("evidence").Number(candidate.evidence);
    optional("value", candidate.value);
    optional("low", candidate.low);
    optional("high", candidate.high);
    json.Key("note").Text(candidate.note);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  return json.Take();
}

absl::Status Write(const Tuning& tuning, const TuneOptions& options, std::FILE* out) {
  const std::string shown = options.json == "-" ? Json(tuning) : Text(tuning);
  std::fwrite(shown.data(), 1, shown.size(), out);
  if (!options.json.empty() && options.json != "-") {
    BANDANA_RETURN_IF_ERROR(WriteFileDurably(options.json, Json(tuning), 0644));
  }
  if (!options.plot.empty()) BANDANA_RETURN_IF_ERROR(DrawEvidence(tuning, options.plot));
  if (options.out.empty()) return absl::OkStatus();
  return WriteFileDurably(options.out, ToUpdate(tuning), 0644);
}

int Say(const absl::Status& status, int code, std::FILE* err) {
  std::fprintf(err, "bandana-ctl: %s\n", std::string(status.message()).c_str());
  return code;
}

}  // namespace

std::string TuneHelp() {
  return "  tune --log FILE... --config FILE --model M [--unreported VALUE] [--confidence 0.95]\n"
         "       [--json FILE] [--out FILE.textproto] [--plot FILE.svg]\n"
         "      finds the noise and the scales of a model by replaying a log of decisions\n";
}

int RunTune(std::span<const std::string> words, std::FILE* out, std::FILE* err) {
  for (const std::string& word : words) {
    if (word != "--help" && word != "-h") continue;
    std::fputs(TuneHelp().c_str(), out);
    return 0;
  }
  const auto options = ParseOptions(words);
  if (!options.ok()) return Say(options.status(), kExitUsage, err);
  const auto tuning = Tune(*options);
  if (!tuning.ok()) return Say(tuning.status(), kExitFailure, err);
  const absl::Status written = Write(*tuning, *options, out);
  return written.ok() ? 0 : Say(written, kExitFailure, err);
}

}  // namespace bandana
