#include "client/core/selection/select_message.h"

#include <set>
#include <span>
#include <utility>
#include <variant>

#include "client/core/features.h"
#include "client/core/selection/rules_message.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/base/utf8.h"
#include "common/base/wire_reader.h"
#include "common/base/wire_writer.h"

namespace bandana::device {
namespace {

// Fields of v1.SelectRequest.
enum Field : int {
  kModel = 1,
  kUser = 2,
  kArms = 3,
  kTopK = 4,
  kShown = 5,
  kContext = 7,
  kDeferred = 9,
  kSlots = 11,
  kPolicyHash = 15,
  kRules = 16
};

// google.protobuf.Value.
struct ToValue {
  std::string operator()(double value) const {
    std::string bytes;
    WireWriter(bytes).Real(2, value);
    return bytes;
  }
  std::string operator()(const std::string& value) const {
    std::string bytes;
    WireWriter(bytes).Message(3, value);
    return bytes;
  }
  std::string operator()(bool value) const {
    std::string bytes;
    WireWriter(bytes).Flag(4, value);
    return bytes;
  }
  template <typename Element>
  std::string operator()(const std::vector<Element>& values) const {
    std::string list;
    for (const Element& value : values) WireWriter(list).Message(1, (*this)(value));
    std::string bytes;
    WireWriter(bytes).Message(6, list);
    return bytes;
  }
};

// google.protobuf.Struct.
std::string StructOf(const Features& features) {
  std::string bytes;
  WireWriter writer(bytes);
  for (const auto& [name, value] : features.values()) {
    std::string entry;
    WireWriter in_entry(entry);
    in_entry.Message(1, name);
    in_entry.Message(2, std::visit(ToValue{}, value));
    writer.Message(1, entry);
  }
  return bytes;
}

void WriteTexts(int field, std::span<const std::string> texts, WireWriter& writer) {
  for (const std::string& text : texts) writer.Message(field, text);
}

std::string QueryOf(const Arms& arms) {
  std::string query;
  WireWriter writer(query);
  WriteTexts(1, arms.tags, writer);
  if (arms.query == nullptr) return query;
  WriteTexts(1, arms.query->tags_any, writer);
  WriteTexts(2, arms.query->tags_all, writer);
  WriteTexts(3, arms.query->tags_none, writer);
  writer.PackedFixed(4, arms.query->excluded_ids);
  WriteTexts(5, arms.query->excluded_names, writer);
  return query;
}

std::string NamedOf(std::span<const NamedArm> arms) {
  std::string named;
  WireWriter writer(named);
  for (const NamedArm& arm : arms) {
    std::string bytes;
    WireWriter in_arm(bytes);
    in_arm.Bytes(1, arm.id);
    in_arm.Message(2, StructOf(arm.features));
    writer.Message(1, bytes);
  }
  return named;
}

// v1.ArmSet, and what it says of the answer.
absl::StatusOr<std::string> ArmSetOf(const Arms& arms, int dimension, SelectRequest& request) {
  std::string form;
  WireWriter writer(form);
  std::string set;
  switch (arms.form) {
    case Arms::Form::kInline: {
      BANDANA_ASSIGN_OR_RETURN(const int count, CheckInlineArms(arms.features, dimension));
      if (!arms.ids.empty() && arms.ids.size() != static_cast<std::size_t>(count)) {
        return InvalidArgument("arms.ids must be empty or have one id per arm, got ",
                               arms.ids.size(), " for ", count, " arms");
      }
      writer.PackedReals(1, arms.features);
      writer.PackedFixed(2, arms.ids);
      request.arms = count;
      WireWriter(set).Message(1, form);
      return set;
    }
    case Arms::Form::kCatalogue:
      if (arms.ids.empty() && arms.names.empty()) {
        return InvalidArgument("arms.ids must not be empty");
      }
      writer.PackedFixed(1, arms.ids);
      WriteTexts(2, arms.names, writer);
      request.arms = static_cast<std::int64_t>(arms.ids.size() + arms.names.size());
      request.has_ids = true;
      WireWriter(set).Message(2, form);
      return set;
    case Arms::Form::kQuery:
      request.arms = std::int64_t{1} << 31;
      request.has_ids = true;
      WireWriter(set).Message(3, QueryOf(arms));
      return set;
    case Arms::Form::kNamed:
      BANDANA_RETURN_IF_ERROR(CheckNamedArms(arms.named));
      request.arms = static_cast<std::int64_t>(arms.named.size());
      for (const NamedArm& arm : arms.named) request.names.push_back(arm.id);
      WireWriter(set).Message(4, NamedOf(arms.named));
      return set;
  }
  return Internal("arms of an unknown form");
}

absl::StatusOr<SelectRequest> Make(const std::string& model, int dimension, std::string_view user,
                                   const Arms& arms, const Ranks& ranks, bool deferred, int slots) {
  SelectRequest request;
  BANDANA_ASSIGN_OR_RETURN(const std::string set, ArmSetOf(arms, dimension, request));
  request.top_k = slots == 0 ? static_cast<std::uint32_t>(ranks.top_k) : 0;
  request.slots = static_cast<std::uint32_t>(slots);
  WireWriter writer(request.bytes);
  writer.Bytes(kModel, model);
  writer.Bytes(kUser, user);
  writer.Message(kArms, set);
  writer.Number(kTopK, request.top_k);
  writer.Number(kShown, static_cast<std::uint32_t>(ranks.shown));
  if (arms.context != nullptr) writer.Message(kContext, StructOf(*arms.context));
  writer.Number(kDeferred, deferred ? 1U : 0U);
  writer.Number(kSlots, request.slots);
  if (arms.rules == nullptr) return request;
  if (!request.has_ids) {
    return InvalidArgument("arms.rules are for arms of the catalogue, which the server ranks");
  }
  BANDANA_ASSIGN_OR_RETURN(request.rules, RulesMessage(*arms.rules));
  return request;
}

}  // namespace

absl::Status CheckUser(std::string_view user) {
  if (user.empty() || user.size() > kUserIdBytesMax) {
    return InvalidArgument("user must have 1 to ", kUserIdBytesMax, " bytes, got ", user.size());
  }
  return IsUtf8(user) ? absl::OkStatus() : InvalidArgument("user must be UTF-8");
}

std::string SelectRequest::Under(std::string_view policy_hash) const {
  std::string request = bytes;
  WireWriter writer(request);
  writer.Bytes(kPolicyHash, policy_hash);
  writer.Bytes(kRules, rules);
  return request;
}

absl::StatusOr<SelectRequest> MakePointRequest(const std::string& model, std::string_view user) {
  BANDANA_RETURN_IF_ERROR(CheckUser(user));
  SelectRequest request;
  request.is_point = true;
  WireWriter writer(request.bytes);
  writer.Bytes(kModel, model);
  writer.Bytes(kUser, user);
  return request;
}

absl::StatusOr<SelectRequest> MakeSelectRequest(const std::string& model, int dimension,
                                                std::string_view user, const Arms& arms,
                                                const Ranks& ranks, bool deferred) {
  BANDANA_RETURN_IF_ERROR(CheckUser(user));
  if (ranks.top_k < 1 || ranks.top_k > kTopKMax) {
    return InvalidArgument("top_k must be in [1, ", kTopKMax, "], got ", ranks.top_k);
  }
  if (ranks.shown < 0 || ranks.shown >= ranks.top_k) {
    return InvalidArgument("ranks.shown must be in [0, ", ranks.top_k, "), got ", ranks.shown);
  }
  return Make(model, dimension, user, arms, ranks, deferred, 0);
}

absl::StatusOr<SelectRequest> MakeSlotsRequest(const std::string& model, int dimension,
                                               std::string_view user, const Arms& arms, int slots) {
  if (slots < 1 || slots > kSlotsMax) {
    return InvalidArgument("slots must be in [1, ", kSlotsMax, "], got ", slots);
  }
  BANDANA_RETURN_IF_ERROR(CheckUser(user));
  return Make(model, dimension, user, arms, Ranks(), /*deferred=*/false, slots);
}

absl::Status CheckNamedArms(std::span<const NamedArm> arms) {
  if (arms.empty() || arms.size() > static_cast<std::size_t>(kArmsPerRequestMaxMax)) {
    return InvalidArgument("arms: 1 to ", kArmsPerRequestMaxMax, " arms a decision, got ",
                           arms.size());
  }
  std::set<std::string_view> ids;
  for (std::size_t i = 0; i < arms.size(); ++i) {
    const std::string& id = arms[i].id;
    if (id.empty() || id.size() > kArmNameBytesMax) {
      return InvalidArgument("arms[", i, "].id: must have 1 to ", kArmNameBytesMax, " bytes, got ",
                             id.size());
    }
    if (!ids.insert(id).second) return InvalidArgument("arms[", i, "].id: is there twice");
  }
  return absl::OkStatus();
}

absl::StatusOr<SelectResponse> ReadSelectResponse(std::string_view bytes) {
  SelectResponse response;
  WireReader in(bytes);
  while (in.Next()) {
    switch (in.field()) {
      case 1:
        in.Numbers(response.positions);
        break;
      case 2:
        in.Fixed(response.arm_ids);
        break;
      case 3:
        in.Reals(response.scores);
        break;
      case 4:
        in.Reals(response.means);
        break;
      case 5:
        in.Reals(response.widths);
        break;
      case 6:
        in.Reals(response.propensities);
        break;
      case 7:
        in.Bytes(response.token);
        break;
      case 8:
        in.Number(response.posterior_version);
        break;
      case 9:
        in.Reals(response.reward_windows);
        break;
      case 10:
        in.Reals(response.point);
        break;
      case 11:
        if (in.Message()) in.Text(response.arm_names.emplace_back());
        break;
      case 13:
        if (in.Message()) in.Bytes(response.slot_tokens.emplace_back());
        break;
      case 15:
        if (in.Message()) in.Text(response.notes.emplace_back());
        break;
      default:
        break;
    }
  }
  if (!in.ok()) return Internal("the server's answer is not a selection");
  return response;
}

}  // namespace bandana::device
