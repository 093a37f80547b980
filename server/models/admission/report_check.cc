#include "server/models/admission/report_check.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "common/model/entries/records.h"
#include "common/promise/mechanism.h"
#include "server/models/admission/reported_event.h"

namespace bandana::server {
namespace {

// By ReportForm.
constexpr Intake (*kMakers[])(const ModelSpec& spec) = {
    [](const ModelSpec& spec) -> Intake { return MakeOutcomeCheck(spec); },
    [](const ModelSpec& spec) -> Intake { return MakeOutcomeCheck(spec); },
    [](const ModelSpec& spec) -> Intake { return MakeCounterCheck(spec); },
    [](const ModelSpec& spec) -> Intake { return MakeContextCheck(spec); },
};

}  // namespace

std::optional<std::string> OpeningOf(const Intake& intake, std::span<const Decision> slots,
                                     std::optional<absl::Time> shown) {
  std::vector<std::string> records;
  for (const Decision& decision : slots) {
    const absl::Time from = shown.value_or(TokenTime(decision));
    std::optional<std::string> record =
        std::visit([&](const auto& check) { return check->OpeningOf(decision, from); }, intake);
    if (!record) return std::nullopt;
    records.push_back(*std::move(record));
  }
  if (records.size() == 1) return std::move(records.front());
  return Encode(OpeningRequest{.decisions = {records.begin(), records.end()}});
}

Intake MakeIntake(const ModelSpec& spec) {
  return kMakers[static_cast<std::size_t>(spec.public_spec.made->reports())](spec);
}

}  // namespace bandana::server
