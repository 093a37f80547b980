#include "server/models/admission/report_check.h"

#include <cstddef>

#include "common/design/mechanism.h"

namespace bandana::server {
namespace {

// By ReportForm.
constexpr Intake (*kMakers[])(const ModelSpec& spec) = {
    [](const ModelSpec& spec) -> Intake { return MakeRewardCheck(spec); },
    [](const ModelSpec& spec) -> Intake { return MakeOutputCheck(spec); },
    [](const ModelSpec& spec) -> Intake { return MakeCounterCheck(spec); },
    [](const ModelSpec& spec) -> Intake { return MakeContextCheck(spec); },
};

}  // namespace

std::optional<std::string> OpeningOf(const Intake& intake, const Decision& decision) {
  return std::visit([&](const auto& check) { return check->OpeningOf(decision); }, intake);
}

Intake MakeIntake(const ModelSpec& spec) {
  return kMakers[static_cast<std::size_t>(spec.public_spec.made->reports())](spec);
}

}  // namespace bandana::server
