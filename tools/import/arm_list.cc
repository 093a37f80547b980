#include "tools/import/arm_list.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "common/base/exact_number.h"
#include "common/base/status.h"

namespace bandana {
namespace {

std::optional<std::uint64_t> IdOf(std::string_view name) {
  return ReadWholeNumber(name, std::numeric_limits<std::uint32_t>::max());
}

}  // namespace

absl::Status ArmList::Add(std::string_view name) {
  if (positions_.contains(absl::string_view(name.data(), name.size()))) return absl::OkStatus();
  const bool control = std::any_of(name.begin(), name.end(), [](char c) {
    return static_cast<unsigned char>(c) < ' ' || c == 0x7F;
  });
  if (name.empty() || name.size() > kDecisionTextBytesMax || control || name == "-") {
    return InvalidArgument(
        "an arm must be named by 1 to 128 bytes without control characters, and not \"-\"");
  }
  if (names_.size() == kArmsMax) {
    return absl::ResourceExhaustedError(
        absl::StrCat("there must be at most ", kArmsMax, " arms, as many as a catalogue takes"));
  }
  positions_.emplace(std::string(name), static_cast<std::uint32_t>(names_.size()));
  names_.emplace_back(name);
  return absl::OkStatus();
}

absl::Status ArmList::AddAll(const LoggedSlot& slot) {
  for (const std::string& name : slot.names) BANDANA_RETURN_IF_ERROR(Add(name));
  for (const std::uint32_t id : slot.ids) BANDANA_RETURN_IF_ERROR(Add(absl::StrCat(id)));
  if (slot.names.empty() && slot.ids.empty()) return Add(absl::StrCat(slot.chosen));
  return absl::OkStatus();
}

void ArmList::Sort() {
  numbered_ = std::all_of(names_.begin(), names_.end(),
                          [](const std::string& name) { return IdOf(name).has_value(); });
  if (!numbered_) return;
  std::sort(names_.begin(), names_.end(),
            [](const std::string& a, const std::string& b) { return *IdOf(a) < *IdOf(b); });
  for (std::size_t at = 0; at < names_.size(); ++at) {
    positions_[names_[at]] = static_cast<std::uint32_t>(at);
  }
}

const std::uint32_t* ArmList::Find(std::string_view name) const {
  const auto found = positions_.find(absl::string_view(name.data(), name.size()));
  return found == positions_.end() ? nullptr : &found->second;
}

std::uint32_t ArmList::id(std::size_t position) const {
  return static_cast<std::uint32_t>(numbered_ ? *IdOf(names_[position]) : position);
}

std::string ArmList::ToTsv() const {
  std::string text = numbered_ ? "id\ttags\tfeatures\n" : "id\ttags\tfeatures\tgroups\tname\n";
  for (std::size_t at = 0; at < names_.size(); ++at) {
    absl::StrAppend(&text, id(at), "\t-\t1");
    if (!numbered_) absl::StrAppend(&text, "\t-\t", names_[at]);
    text += '\n';
  }
  return text;
}

}  // namespace bandana
