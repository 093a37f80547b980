#include "tools/judge/judge_main.h"

#include "common/base/file.h"
#include "common/base/status.h"
#include "tools/judge/evaluate.h"
#include "tools/judge/evaluate_answer.h"
#include "tools/judge/evaluate_options.h"

namespace bandana {
namespace {

constexpr int kExitFailure = 1;
constexpr int kExitUsage = 2;

int Say(const absl::Status& status, int code, std::FILE* err) {
  std::fprintf(err, "bandana-ctl: %s\n", std::string(status.message()).c_str());
  return code;
}

absl::Status Write(const Evaluation& evaluation, const EvaluateOptions& options, std::FILE* out) {
  const std::string json = EvaluationJson(evaluation);
  const std::string shown = options.json == "-" ? json : EvaluationText(evaluation);
  std::fwrite(shown.data(), 1, shown.size(), out);
  if (!options.json.empty() && options.json != "-") {
    BANDANA_RETURN_IF_ERROR(WriteFileDurably(options.json, json, 0644));
  }
  const bool drawn = !options.plot.empty() && evaluation.error.empty();
  return drawn ? DrawEvaluation(evaluation, options.plot) : absl::OkStatus();
}

}  // namespace

int RunEvaluate(std::span<const std::string> words, std::FILE* out, std::FILE* err) {
  for (const std::string& word : words) {
    if (word != "--help" && word != "-h") continue;
    std::fputs(EvaluateHelp().c_str(), out);
    return 0;
  }
  const auto options = ParseEvaluateOptions(words);
  if (!options.ok()) return Say(options.status(), kExitUsage, err);
  const auto evaluation = Evaluate(
      *options, [err](const std::string& message) { std::fprintf(err, "%s\n", message.c_str()); });
  if (!evaluation.ok()) return Say(evaluation.status(), kExitFailure, err);
  const absl::Status written = Write(*evaluation, *options, out);
  if (!written.ok()) return Say(written, kExitFailure, err);
  return evaluation->judged() ? 0 : kExitFailure;
}

}  // namespace bandana
