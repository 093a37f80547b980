#include "common/judging/probability_files.h"

#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "common/base/exact_number.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "common/judging/simple_policies.h"

namespace bandana {
namespace {

struct Row {
  std::string_view decision;
  std::string_view arm;
  std::optional<std::uint64_t> slot;  // nothing: there is no such column
  double probability = 0;
};

enum Column { kDecision, kArm, kSlot, kProbability, kColumns };
constexpr std::string_view kColumnNames[kColumns] = {"decision", "arm", "slot", "probability"};

std::string_view Trimmed(std::string_view field) {
  while (!field.empty() && field.front() == ' ') field.remove_prefix(1);
  while (!field.empty() && field.back() == ' ') field.remove_suffix(1);
  return field;
}

// The columns' positions, from the header.
absl::StatusOr<std::vector<int>> ReadHeader(std::string_view line, char separator, bool decisions) {
  std::vector<int> columns;
  std::vector<bool> has(kColumns);
  while (!line.empty()) {
    const std::string_view name = Trimmed(TakeField(line, separator));
    int column = -1;
    for (int known = 0; known < kColumns; ++known) {
      if (name == kColumnNames[known]) column = known;
    }
    if (column >= 0) has[static_cast<std::size_t>(column)] = true;
    columns.push_back(column);
  }
  if (!has[kArm] || !has[kProbability] || (decisions && !has[kDecision])) {
    return InvalidArgument("line 1: the header must name the columns ",
                           decisions ? "decision, arm and probability" : "arm and probability");
  }
  return columns;
}

absl::Status ReadField(int column, std::string_view field, Row& row) {
  switch (column) {
    case kDecision:
      row.decision = field;
      return absl::OkStatus();
    case kArm:
      row.arm = field;
      return field.empty() ? InvalidArgument("arm: must not be empty") : absl::OkStatus();
    case kSlot:
      row.slot = ReadWholeNumber(field, kDecisionSlotsMax - 1);
      return row.slot ? absl::OkStatus()
                      : InvalidArgument("slot: must be a whole number in [0, 99]");
    case kProbability: {
      const std::optional<double> number = ReadExactNumber(field);
      if (!number || !(*number >= 0 && *number <= 1)) {
        return InvalidArgument("probability: must be a number in [0, 1]");
      }
      row.probability = *number;
      return absl::OkStatus();
    }
    default:
      return absl::OkStatus();
  }
}

template <typename Take>
absl::Status ReadRows(std::string_view text, bool decisions, const Take& take) {
  BANDANA_ASSIGN_OR_RETURN(TextLines lines, TextLines::Of(text));
  std::string_view line;
  if (!lines.Next(line)) return InvalidArgument("line 1: the header is missing");
  const char separator = line.find('\t') == std::string_view::npos ? ',' : '\t';
  BANDANA_ASSIGN_OR_RETURN(const std::vector<int> columns, ReadHeader(line, separator, decisions));
  while (lines.Next(line)) {
    if (line.empty()) continue;
    Row row;
    const std::string where = absl::StrCat("line ", lines.number());
    for (std::size_t at = 0; at < columns.size(); ++at) {
      BANDANA_RETURN_IF_ERROR(
          Annotate(ReadField(columns[at], Trimmed(TakeField(line, separator)), row), where));
    }
    BANDANA_RETURN_IF_ERROR(Annotate(take(row), where));
  }
  return absl::OkStatus();
}

using ArmLaw = std::unordered_map<std::string, double>;  // by the arm's text

absl::Status CheckSum(const ArmLaw& law, std::string_view what) {
  double sum = 0;
  for (const auto& [arm, probability] : law) sum += probability;
  if (std::abs(sum - 1) <= kPropensitySumError) return absl::OkStatus();
  return InvalidArgument(ToAbsl(what), ": probabilities must add up to 1, got ", sum);
}

absl::Status AddArm(const Row& row, ArmLaw& law) {
  if (law.emplace(row.arm, row.probability).second) return absl::OkStatus();
  return InvalidArgument("arm: ", ToAbsl(row.arm), " stands here twice");
}

class TablePolicy : public JudgedPolicy {
 public:
  // Key -1: of every slot.
  TablePolicy(std::string_view name, std::map<std::int64_t, ArmLaw> laws)
      : JudgedPolicy(std::string(name)), laws_(std::move(laws)) {
    for (const auto& [slot, law] : laws_) {
      for (const auto& [arm, probability] : law) offered_[arm] = false;
    }
  }

  absl::StatusOr<bool> Law(const SlotView& view, std::vector<double>& law) override {
    auto found = laws_.find(static_cast<std::int64_t>(view.at));
    if (found == laws_.end()) found = laws_.find(-1);
    if (found == laws_.end()) {
      return FailedPrecondition(name(), ": says nothing of slot ", view.at, ", which decision ",
                                view.decision->id, " has");
    }
    const LoggedSlot& slot = view.slot();
    if (slot.cut()) return false;
    law.assign(slot.arms(), 0);
    double sum = 0;
    for (std::size_t arm = 0; arm < law.size(); ++arm) {
      const std::string text = ArmText(slot, arm);
      const auto entry = found->second.find(text);
      if (entry == found->second.end()) continue;
      offered_[text] = true;
      if (view.is_taken(arm)) continue;
      law[arm] = entry->second;
      sum += entry->second;
    }
    if (!(sum > 0)) return false;
    for (double& chance : law) chance /= sum;
    return true;
  }

  absl::Status EndOfLog() const override {
    for (const auto& [arm, offered] : offered_) {
      if (!offered) return FailedPrecondition(name(), ": arm ", arm, " was never on offer");
    }
    return absl::OkStatus();
  }

 private:
  const std::map<std::int64_t, ArmLaw> laws_;
  std::map<std::string, bool> offered_;
};

class ScoresPolicy : public JudgedPolicy {
 public:
  // Laws by decision; of lists by "SLOT DECISION".
  ScoresPolicy(std::string_view name, std::unordered_map<std::string, ArmLaw> laws)
      : JudgedPolicy(std::string(name)), laws_(std::move(laws)) {}

  static std::string KeyOf(std::uint64_t slot, std::string_view decision) {
    return slot == 0 ? std::string(decision) : absl::StrCat(slot, "\t", ToAbsl(decision));
  }

  absl::StatusOr<bool> Law(const SlotView& view, std::vector<double>& law) override {
    const auto found = laws_.find(KeyOf(view.at, view.decision->id));
    if (found == laws_.end()) return false;
    const LoggedSlot& slot = view.slot();
    if (slot.cut()) return false;
    law.assign(slot.arms(), 0);
    double sum = 0;
    for (std::size_t arm = 0; arm < law.size(); ++arm) {
      const auto entry = found->second.find(ArmText(slot, arm));
      if (entry == found->second.end() || view.is_taken(arm)) continue;
      law[arm] = entry->second;
      sum += entry->second;
    }
    if (std::abs(sum - 1) <= 2 * kPropensitySumError) return true;
    return FailedPrecondition(name(), ": decision ", view.decision->id,
                              ": names an arm that is not on offer, or one twice");
  }

 private:
  const std::unordered_map<std::string, ArmLaw> laws_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<JudgedPolicy>> ReadTablePolicy(std::string_view name,
                                                              std::string_view text) {
  std::map<std::int64_t, ArmLaw> laws;
  BANDANA_RETURN_IF_ERROR(Annotate(ReadRows(text, false,
                                            [&](const Row& row) {
                                              const std::int64_t slot =
                                                  row.slot ? static_cast<std::int64_t>(*row.slot)
                                                           : -1;
                                              return AddArm(row, laws[slot]);
                                            }),
                                   name));
  if (laws.empty()) return InvalidArgument(ToAbsl(name), ": has no arms");
  for (const auto& [slot, law] : laws) {
    const std::string what = slot < 0 ? "the table" : absl::StrCat("slot ", slot);
    BANDANA_RETURN_IF_ERROR(Annotate(CheckSum(law, what), name));
  }
  return std::make_unique<TablePolicy>(name, std::move(laws));
}

absl::StatusOr<std::unique_ptr<JudgedPolicy>> ReadScoresPolicy(std::string_view name,
                                                               std::string_view text) {
  std::unordered_map<std::string, ArmLaw> laws;
  BANDANA_RETURN_IF_ERROR(Annotate(
      ReadRows(text, true,
               [&](const Row& row) {
                 if (row.decision.empty()) {
                   return InvalidArgument("decision: must not be empty");
                 }
                 return AddArm(row, laws[ScoresPolicy::KeyOf(row.slot.value_or(0), row.decision)]);
               }),
      name));
  for (const auto& [decision, law] : laws) {
    BANDANA_RETURN_IF_ERROR(Annotate(CheckSum(law, absl::StrCat("decision ", decision)), name));
  }
  return std::make_unique<ScoresPolicy>(name, std::move(laws));
}

}  // namespace bandana
