#include "server/api/personalizer_calls.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/base/sha256.h"
#include "common/base/status.h"
#include "common/json/json_text.h"
#include "server/api/hashed_features.h"
#include "server/api/json_call.h"

namespace bandana::server {
namespace {

using Json = nlohmann::json;

// Holds what is no feature: {"bandana": {"user": "ann"}}.
constexpr char kReserved[] = "bandana";
constexpr char kEverybody[] = "personalizer";  // the user of calls that name none
constexpr std::size_t kDecisionIdBytesMax = 64;

const Json& Member(const Json& object, const char* name) {
  static const Json kNull;
  const auto found = object.find(name);
  return found == object.end() ? kNull : *found;
}

absl::StatusOr<std::string> IdOf(const Json& value, std::string_view path, std::size_t most) {
  const std::string* const text = value.get_ptr<const std::string*>();
  if (text != nullptr && !text->empty() && text->size() <= most) return *text;
  return InvalidArgument(ToAbsl(path), ": must be a text of 1 to ", most, " bytes");
}

absl::StatusOr<std::vector<std::string>> IdsOf(const Json& list, std::string_view path) {
  std::vector<std::string> ids;
  if (list.is_null()) return ids;
  if (!list.is_array()) return InvalidArgument(ToAbsl(path), ": must be a list of texts");
  for (std::size_t i = 0; i < list.size(); ++i) {
    BANDANA_ASSIGN_OR_RETURN(
        std::string id, IdOf(list[i], absl::StrCat(ToAbsl(path), "[", i, "]"), kActionIdBytesMax));
    ids.push_back(std::move(id));
  }
  return ids;
}

absl::Status ReadActions(const Json& list, RankCall& call) {
  if (!list.is_array() || list.empty() || list.size() > std::size_t{kArmsPerRequestMaxMax}) {
    return InvalidArgument("actions: must be a list of 1 to ", kArmsPerRequestMaxMax, " actions");
  }
  std::set<std::string> ids;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string path = absl::StrCat("actions[", i, "]");
    if (!list[i].is_object()) return InvalidArgument(path, ": must be an object");
    RankAction action{.features = Member(list[i], "features")};
    BANDANA_ASSIGN_OR_RETURN(action.id,
                             IdOf(Member(list[i], "id"), path + ".id", kActionIdBytesMax));
    if (!ids.insert(action.id).second) {
      return InvalidArgument(path, ".id: is that of another action already");
    }
    call.actions.push_back(std::move(action));
  }
  return absl::OkStatus();
}

absl::Status ReadSlots(const Json& list, RankCall& call) {
  if (!list.is_array() || list.empty() || list.size() > kSlotsMax) {
    return InvalidArgument("slots: must be a list of 1 to ", kSlotsMax, " slots");
  }
  std::set<std::string> ids;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string path = absl::StrCat("slots[", i, "]");
    if (!list[i].is_object()) return InvalidArgument(path, ": must be an object");
    RankSlot slot{.features = Member(list[i], "features")};
    BANDANA_ASSIGN_OR_RETURN(slot.id, IdOf(Member(list[i], "id"), path + ".id", kActionIdBytesMax));
    if (!ids.insert(slot.id).second) {
      return InvalidArgument(path, ".id: is that of another slot already");
    }
    BANDANA_ASSIGN_OR_RETURN(slot.excluded,
                             IdsOf(Member(list[i], "excludedActions"), path + ".excludedActions"));
    if (const Json& baseline = Member(list[i], "baselineAction"); !baseline.is_null()) {
      BANDANA_ASSIGN_OR_RETURN(slot.baseline,
                               IdOf(baseline, path + ".baselineAction", kActionIdBytesMax));
      if (!std::ranges::count(call.actions, slot.baseline, &RankAction::id)) {
        return InvalidArgument(path, ".baselineAction: no action has this id");
      }
    }
    call.slots.push_back(std::move(slot));
  }
  if (call.slots.size() > call.actions.size()) {
    return InvalidArgument("slots: are more than actions");
  }
  return absl::OkStatus();
}

// The user of a call, whom Personalizer has no word for.
absl::StatusOr<std::string> UserOf(const Json& context) {
  if (!context.is_array()) return std::string(kEverybody);
  for (const Json& one : context) {
    if (!one.is_object() || !one.contains(kReserved)) continue;
    const Json& reserved = one.at(kReserved);
    return IdOf(reserved.is_object() ? Member(reserved, "user") : Json(),
                "contextFeatures.bandana.user", kUserIdBytesMax);
  }
  return std::string(kEverybody);
}

// The list without what is no feature.
Json FeaturesOf(const Json& list) {
  if (!list.is_array()) return list;
  Json features = list;
  for (Json& one : features) {
    if (one.is_object()) one.erase(kReserved);
  }
  return features;
}

// Values by the name of a field: its own, `price`, or with that of its namespace, `article_price`.
// Names in a schema are in small letters.
void CollectValues(const Json& list, std::map<std::string, Json>& values) {
  if (!list.is_array()) return;
  const auto put = [&](const std::string& name, const Json& value) {
    values.emplace(absl::AsciiStrToLower(name), value);
  };
  for (const Json& one : list) {
    if (!one.is_object()) continue;
    for (const auto& [name, value] : one.items()) {
      if (!value.is_object()) {
        put(name, value);
        continue;
      }
      for (const auto& [field, inner] : value.items()) {
        put(absl::StrCat(name, "_", field), inner);
        put(field, inner);
      }
    }
  }
}

absl::Status FillStruct(const std::map<std::string, Json>& values,
                        const google::protobuf::RepeatedPtrField<v1::FeatureField>& fields,
                        bool any_context, std::string_view path, google::protobuf::Struct& out) {
  Json chosen = Json::object();
  for (const v1::FeatureField& field : fields) {
    const auto found = values.find(field.name());
    if (found != values.end() && !found->second.is_null()) chosen[field.name()] = found->second;
  }
  if (any_context) DropOddValues(chosen);
  return Annotate(FromJson(JsonText(chosen), out), path);
}

absl::Status FillNamed(const RankCall& call, const RankPart& part, const v1::FeatureSchema& schema,
                       v1::SelectRequest& request) {
  std::map<std::string, Json> context;
  if (part.slot != nullptr) CollectValues(part.slot->features, context);
  CollectValues(FeaturesOf(call.context), context);
  BANDANA_RETURN_IF_ERROR(FillStruct(context, schema.context(), call.any_context, "contextFeatures",
                                     *request.mutable_context()));
  v1::NamedArms& arms = *request.mutable_arms()->mutable_named_arms();
  for (const std::uint32_t position : part.offered) {
    const RankAction& action = call.actions[position];
    v1::NamedArm& arm = *arms.add_arms();
    arm.set_id(action.id);
    std::map<std::string, Json> values;
    CollectValues(action.features, values);
    BANDANA_RETURN_IF_ERROR(FillStruct(values, schema.arm(), call.any_context,
                                       absl::StrCat("actions[", position, "].features"),
                                       *arm.mutable_features()));
  }
  return absl::OkStatus();
}

absl::Status FillHashed(const RankCall& call, const RankPart& part,
                        const v1::GetModelResponse& model, v1::SelectRequest& request) {
  const auto dimension = static_cast<int>(model.dimension());
  if (dimension < kHashedDimensionMin) {
    return FailedPrecondition("model ", model.model(), " has ", dimension,
                              " features: hashed ones need at least ", kHashedDimensionMin,
                              "; raise its dimension or give it a schema (features)");
  }
  const bool any = call.any_context;
  std::vector<HashedFeature> context;
  BANDANA_RETURN_IF_ERROR(AppendHashed(FeaturesOf(call.context), "contextFeatures", any, context));
  if (part.slot != nullptr) {
    Json own;
    own["slot"]["id"] = part.slot->id;
    BANDANA_RETURN_IF_ERROR(AppendHashed(Json::array({std::move(own)}), "slots", any, context));
    BANDANA_RETURN_IF_ERROR(AppendHashed(part.slot->features, "slots", any, context));
  }
  auto& features = *request.mutable_arms()->mutable_inline_arms()->mutable_features();
  features.Resize(static_cast<int>(part.offered.size()) * dimension, 0.0);
  std::size_t crosses = 0;
  for (std::size_t i = 0; i < part.offered.size(); ++i) {
    const RankAction& action = call.actions[part.offered[i]];
    std::vector<HashedFeature> own = {ActionFeature(action.id)};
    BANDANA_RETURN_IF_ERROR(AppendHashed(
        action.features, absl::StrCat("actions[", part.offered[i], "].features"), any, own));
    crosses += own.size() * context.size();
    if (crosses > kCrossesMax) {
      if (!any) {
        return InvalidArgument("actions: their features times those of the context are more than ",
                               kCrossesMax);
      }
      context.clear();
    }
    HashedVector(context, own, model.feature_l2_max(), dimension,
                 features.mutable_data() + static_cast<std::size_t>(dimension) * i);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<RankCall> ParseRank(std::string_view body, bool with_slots, bool any_context) {
  const std::string text = any_context ? WithPlainNumbers(body) : std::string(body);
  BANDANA_ASSIGN_OR_RETURN(
      const Json json,
      ParseJson(text, {.depth_max = any_context ? kOddJsonDepthMax : kJsonDepthMax}));
  if (!json.is_object()) return InvalidArgument("the body must be an object");
  RankCall call{.context = Member(json, "contextFeatures"), .any_context = any_context};
  if (const Json& id = Member(json, "eventId"); !id.is_null()) {
    BANDANA_ASSIGN_OR_RETURN(call.event_id, IdOf(id, "eventId", kEventIdBytesMax));
  }
  if (!call.context.is_null() && !call.context.is_array()) {
    if (!any_context) return InvalidArgument("contextFeatures: must be a list of objects");
    call.context = nullptr;
  }
  BANDANA_RETURN_IF_ERROR(UserOf(call.context).status());
  BANDANA_RETURN_IF_ERROR(ReadActions(Member(json, "actions"), call));
  BANDANA_ASSIGN_OR_RETURN(call.excluded,
                           IdsOf(Member(json, "excludedActions"), "excludedActions"));
  if (with_slots) BANDANA_RETURN_IF_ERROR(ReadSlots(Member(json, "slots"), call));
  const Json& deferred = Member(json, "deferActivation");
  if (!deferred.is_null() && !deferred.is_boolean()) {
    return InvalidArgument("deferActivation: must be true or false");
  }
  call.deferred = deferred.is_boolean() && deferred.get<bool>();
  return call;
}

absl::StatusOr<std::vector<SlotReward>> ParseRewards(std::string_view body, bool with_slots,
                                                     bool any_counts) {
  const std::string text = any_counts ? WithPlainNumbers(body) : std::string(body);
  const absl::StatusOr<Json> json = ParseJson(text, {.depth_max = kJsonDepthMax});
  const auto number = [](const Json& value) -> std::optional<double> {
    if (!value.is_number()) return std::nullopt;
    return value.get<double>();
  };
  if (!with_slots) {
    SlotReward one;
    if (json.ok() && json->is_object()) one.reward = number(Member(*json, "value"));
    if (one.reward || any_counts) return std::vector{one};
    BANDANA_RETURN_IF_ERROR(json.status());
    return InvalidArgument("value: must be a number");
  }
  BANDANA_RETURN_IF_ERROR(json.status());
  const Json& list = json->is_object() ? Member(*json, "reward") : Json();
  if (!list.is_array() || list.empty() || list.size() > kSlotsMax) {
    return InvalidArgument("reward: must be a list of 1 to ", kSlotsMax, " rewards of slots");
  }
  std::vector<SlotReward> rewards;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string path = absl::StrCat("reward[", i, "]");
    if (!list[i].is_object()) return InvalidArgument(path, ": must be an object");
    SlotReward one{.reward = number(Member(list[i], "value"))};
    BANDANA_ASSIGN_OR_RETURN(one.slot_id,
                             IdOf(Member(list[i], "slotId"), path + ".slotId", kActionIdBytesMax));
    if (!one.reward && !any_counts) return InvalidArgument(path, ".value: must be a number");
    rewards.push_back(std::move(one));
  }
  return rewards;
}

std::string DecisionIdOf(const std::string& event_id) {
  const bool fits =
      event_id.size() <= kDecisionIdBytesMax &&
      std::ranges::all_of(event_id, [](unsigned char c) { return c > ' ' && c <= '~'; });
  return fits ? event_id : ToHex(Sha256Of("event:" + event_id));
}

std::string DecisionIdOf(const std::string& event_id, const std::string& slot_id) {
  return ToHex(Sha256Of(absl::StrCat("slot:", event_id.size(), ":", event_id, ":", slot_id)));
}

std::vector<std::uint32_t> Offered(const RankCall& call, const std::vector<std::string>& excluded) {
  std::vector<std::uint32_t> offered;
  for (std::size_t i = 0; i < call.actions.size(); ++i) {
    const std::string& id = call.actions[i].id;
    if (std::ranges::count(call.excluded, id) == 0 && std::ranges::count(excluded, id) == 0) {
      offered.push_back(static_cast<std::uint32_t>(i));
    }
  }
  return offered;
}

absl::StatusOr<v1::SelectRequest> DecisionOf(const RankCall& call, const RankPart& part,
                                             const v1::GetModelResponse& model) {
  v1::SelectRequest request;
  BANDANA_ASSIGN_OR_RETURN(*request.mutable_user(), UserOf(call.context));
  if (part.offered.empty()) {
    return InvalidArgument(part.slot == nullptr ? "excludedActions: no action is left"
                                                : "slots: no action is left for one of them");
  }
  BANDANA_RETURN_IF_ERROR(model.has_features() ? FillNamed(call, part, model.features(), request)
                                               : FillHashed(call, part, model, request));
  request.set_decision_id(part.decision_id);
  request.set_deferred(call.deferred);
  if (part.baseline) request.set_baseline(*part.baseline);
  // Without slots the whole ranking is asked for, as far as a token carries it: of any number of
  // actions, which the room that the answer takes must not tell where contexts are private.
  const std::size_t most =
      std::min<std::size_t>(kSealedRanksMax, kRankedFeaturesMax / model.dimension());
  const std::size_t top_k = part.slot == nullptr ? most : 1;
  request.set_top_k(static_cast<std::uint32_t>(std::max<std::size_t>(top_k, 1)));
  return request;
}

nlohmann::ordered_json RankingOf(const RankCall& call, const RankPart& part,
                                 const v1::SelectResponse& selection) {
  nlohmann::ordered_json ranking = nlohmann::ordered_json::array();
  std::set<std::uint32_t> there;
  double left = 1;
  for (int i = 0; i < selection.positions_size(); ++i) {
    const std::uint32_t position = part.offered[selection.positions(i)];
    const double propensity = i < selection.propensities_size() ? selection.propensities(i) : 0;
    left -= propensity;
    ranking.push_back({{"id", call.actions[position].id}, {"probability", propensity}});
    there.insert(position);
  }
  // The actions behind the ranks that are told share the rest evenly.
  const std::size_t behind = part.offered.size() - there.size();
  const double each = behind == 0 ? 0 : std::max(left, 0.0) / static_cast<double>(behind);
  for (const std::uint32_t position : part.offered) {
    if (!there.insert(position).second) continue;
    ranking.push_back({{"id", call.actions[position].id}, {"probability", each}});
  }
  for (std::uint32_t i = 0; i < call.actions.size(); ++i) {
    if (!there.insert(i).second) continue;
    ranking.push_back({{"id", call.actions[i].id}, {"probability", 0.0}});
  }
  return ranking;
}

}  // namespace bandana::server
