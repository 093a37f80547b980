#include "server/ops/model_lines.h"

#include <spdlog/spdlog.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "server/ops/config/config_summary.h"

namespace bandana::server {
namespace {

void LogModel(const ModelSpec& spec) {
  spdlog::info("model {}: {}", spec.public_spec.name, ModelLine(spec));
  if (!spec.plan.empty()) spdlog::info("model {}: {}", spec.public_spec.name, spec.plan);
  if (const std::string warning = Warning(spec); !warning.empty()) {
    spdlog::warn("MODEL {}: {}", spec.public_spec.name, warning);
  }
}

}  // namespace

void LogServed(const ModelRegistry& registry) {
  for (const auto& model : registry.List()) LogModel(model->spec());
  for (const AliasSpec& alias : registry.ListAliases()) spdlog::info("{}", AliasLine(alias));
  for (const std::string& trouble : registry.AliasTroubles()) spdlog::error("{}", trouble);
}

absl::Status WhyAbsent(const AbsentModel& model) {
  const std::string name = absl::StrCat("model ", model.name);
  return absl::StrContains(model.why.message(), name) ? model.why : Annotate(model.why, name);
}

}  // namespace bandana::server
