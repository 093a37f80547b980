#include "tools/judge/policy_names.h"

#include <cstdint>
#include <string_view>

#include "common/base/status.h"
#include "common/base/text.h"
#include "common/judging/probability_files.h"
#include "common/judging/simple_policies.h"
#include "tools/replay/config_policy.h"
#include "tools/replay/exported_policy.h"

namespace bandana {
namespace {

constexpr std::uint64_t kTableBytesMax = 4ull << 30;

}  // namespace

absl::Status CheckPolicyName(const std::string& name) {
  for (const std::string_view plain : {"uniform", "logging", "greedy", "first"}) {
    if (name == plain) return absl::OkStatus();
  }
  std::string_view rest = name;
  const std::string_view kind = TakeField(rest, ':');
  for (const std::string_view known : {"constant", "table", "scores", "config", "model"}) {
    if (kind == known && !rest.empty()) return absl::OkStatus();
  }
  return InvalidArgument("policy ", name,
                         ": must be uniform, logging, greedy, first, constant:ARM, table:FILE, "
                         "scores:FILE, config:FILE or model:EXPORT");
}

bool IsConfigPolicy(const std::string& name) { return name.starts_with("config:"); }

absl::StatusOr<std::unique_ptr<JudgedPolicy>> MakePolicy(const std::string& name,
                                                         const PolicyOptions& options) {
  BANDANA_RETURN_IF_ERROR(CheckPolicyName(name));
  if (name == "uniform") return MakeUniformPolicy();
  if (name == "logging") return MakeLoggingPolicy();
  if (name == "greedy") return MakeGreedyPolicy();
  if (name == "first") return MakeFirstPolicy();
  std::string_view rest = name;
  const std::string_view kind = TakeField(rest, ':');
  if (kind == "constant") return MakeConstantPolicy(rest);
  if (kind == "config") {
    const std::string noisy =
        options.epsilon ? absl::StrCat(name, ", epsilon ", *options.epsilon) : name;
    return MakeConfigPolicy(noisy, {.file = std::string(rest),
                                    .epsilon = options.epsilon,
                                    .seed = options.seed,
                                    .unreported = options.unreported});
  }
  if (kind == "model") return MakeExportedPolicy(name, std::string(rest), options.seed);
  auto text = ReadTextFile(std::string(rest), kTableBytesMax);
  BANDANA_RETURN_IF_ERROR(Annotate(text.status(), name));
  return kind == "table" ? ReadTablePolicy(name, *text) : ReadScoresPolicy(name, *text);
}

}  // namespace bandana
