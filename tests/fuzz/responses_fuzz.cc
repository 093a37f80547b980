// Answers of a hostile server to a device: a model, a policy's text, a posterior, a selection. Each
// is refused, or the device goes on with numbers that are safe to use. The first byte says which.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "client/core/features.h"
#include "client/core/handle.h"
#include "client/core/policy.h"
#include "client/core/selection/arm_effects.h"
#include "client/core/selection/posteriors.h"
#include "client/core/selection/selector.h"
#include "common/base/check.h"
#include "common/design/model_spec.h"
#include "common/design/wire_messages.h"
#include "common/mechanisms/centred_window.h"
#include "common/promise/field_checks.h"
#include "common/promise/mechanism.h"
#include "common/promise/policy_text.h"
#include "common/promise/privacy_rules.h"

namespace {

using namespace bandana;          // NOLINT
using namespace bandana::device;  // NOLINT

constexpr int kDimension = 2;
const std::vector<double> kArms = {1, 0, 0, 1, 0.6, -0.8};

// Any server can hash what it sends: the fields as they are, unchecked, except what a device
// derives. One whose duration is no time keeps the hash that it came with.
void SetHash(v1::GetModelResponse& response) {
  PublicSpec spec;
  spec.name = response.model();
  spec.dimension = static_cast<int>(response.dimension());
  spec.feature_l2_max = response.feature_l2_max();
  spec.reject_features = response.feature_out_of_range() == v1::REJECT;
  spec.reward_range = {response.reward_min(), response.reward_max()};
  spec.reward_binary = response.reward_binary();
  spec.mode = FromProto(response.mode());
  spec.mechanism = FromProto(response.mechanism());
  spec.epsilon = {response.epsilon()};
  spec.delta = {response.delta()};
  if (response.has_counter()) {
    spec.counter = CounterSpec{CounterKindOf(response.counter().kind()).value_or(CounterKind::kBlt),
                               response.counter().horizon(), response.counter().steps_max()};
  }
  if (response.link() == v1::LOGISTIC) spec.link = Link::kLogistic;
  spec.unit_of_privacy = response.unit_of_privacy();
  spec.guarantee = response.guarantee();
  spec.events_per_user_max = response.events_per_user_max();
  spec.research = response.research();
  spec.one_per_decision = response.reporting().one_per_decision();
  const auto span = [](const google::protobuf::Duration& d) {
    return absl::Seconds(d.seconds()) + absl::Nanoseconds(d.nanos());
  };
  if (response.reporting().has_reward_window()) {
    const v1::RewardWindow& window = response.reporting().reward_window();
    spec.reward_window = RewardWindowSpec{span(window.duration()), window.default_reward()};
  }
  spec.token_lifetime = span(response.token_lifetime());
  if (spec.mode == Mode::kLocalContext && spec.dimension >= 1 &&
      spec.dimension <= DimensionMax(spec.mechanism)) {
    const auto made = MakeMechanism(spec);
    if (made.ok()) spec.context = (*made)->agreed();
  }
  response.set_policy_hash(std::string(AsChars(spec.PolicyHash())));
}

// The hand reads of the bytes what protobuf does; groups, which it refuses, excepted.
void CompareModel(std::string_view bytes) {
  v1::GetModelResponse response;
  const bool parsed = response.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  wire::Model model;
  if (!wire::Merge(bytes, model)) {
    const auto begins_group = [](char byte) { return (byte & 7) == 3; };
    BANDANA_CHECK(!parsed || std::ranges::any_of(bytes, begins_group));
    return;
  }
  BANDANA_CHECK(parsed);
  // Large designs take milliseconds.
  if (response.dimension() > 64) return;
  response.DiscardUnknownFields();
  const auto by_hand = ParsePublicSpec(bytes);
  const auto by_protobuf = ParsePublicSpec(response.SerializeAsString());
  BANDANA_CHECK(by_hand.status() == by_protobuf.status());
  if (by_hand.ok()) BANDANA_CHECK(by_hand->PolicyHash() == by_protobuf->PolicyHash());
}

// A text with its hash and its table, as any server can send it. Without fields: the policy is in
// its lines. A policy that is taken says all of it once more when it is printed.
void TryText(std::string_view text) {
  const auto lines = ReadPolicyText(text);
  // Large designs take milliseconds: not what is looked for here.
  if (!lines.ok() || lines->model.dimension > 64) return;
  wire::Model message;
  message.policy_text = std::string(text);
  const Sha256Digest hash = Sha256Of(text);
  message.policy_hash = std::string(AsChars(hash));
  PublicSpec table{.reward_range = {lines->model.reward_min, lines->model.reward_max},
                   .reward_binary = lines->model.reward_binary,
                   .mode = Mode{lines->model.mode},
                   .mechanism = MechanismId{lines->model.mechanism},
                   .epsilon = {lines->model.epsilon}};
  if (table.mode == Mode::kLocalReward && !lines->model.counter) {
    const auto made = MakeMechanism(table);
    if (made.ok()) message.table_digest = (*made)->TableDigest();
  }
  const auto spec = ParsePublicSpec(message);
  if (!spec.ok()) return;
  BANDANA_CHECK(spec->PolicyHash() == hash);
  PublicSpec printed = *spec;
  printed.agreed_hash.reset();
  const std::string again = PolicyText(printed);
  const auto read = ReadPolicyText(again);
  BANDANA_CHECK(read.ok() && read->context == lines->context);
  BANDANA_CHECK(FieldUnlikeText(read->model, lines->model).empty());
}

void TryModel(v1::GetModelResponse& response) {
  // Large designs take milliseconds: not what is looked for here.
  if (response.dimension() > 64) response.set_dimension(64);
  if (!response.policy_text().empty()) return TryText(response.policy_text());
  if (response.policy_hash().empty()) SetHash(response);
  const auto spec = ParsePublicSpec(response.SerializeAsString());
  if (!spec.ok()) return;
  BANDANA_CHECK(AsChars(spec->PolicyHash()) == response.policy_hash());
  CheckPolicy(*spec, {}).IgnoreError();
  // Connect continues with the mechanism.
  const Mechanism& made = *spec->made;
  BANDANA_CHECK(made.id() == spec->mechanism);
  BANDANA_CHECK(made.agreed() == spec->context);
  BANDANA_CHECK(std::isfinite(made.reward_variance()));
}

void TryPosterior(const PosteriorResponse& response) {
  const auto posterior = ParsePosterior(response, kDimension);
  if (!posterior.ok()) return;
  for (const Link link : {Link::kLinear, Link::kLogistic}) {
    const Ranking ranking = RankOnDevice(*posterior, link, {.features = kArms}, 2, 1);
    BANDANA_CHECK(ranking.arms.size() == 2);
    for (int rank = 0; rank < 2; ++rank) {
      BANDANA_CHECK(ranking.arms[rank].position >= 0 && ranking.arms[rank].position < 3);
      const std::vector<double> x = FeaturesOfRank(ranking.features, rank, kDimension);
      BANDANA_CHECK(std::hypot(x.at(0), x.at(1)) <= 1 + 1e-12);
    }
  }
}

void TryArms(const ArmEffectsPage& response) {
  ArmEffectsPages pages;
  const auto next = pages.Add(response);
  if (!next.ok()) return;
  BANDANA_CHECK(*next == 0 || *next > response.ids.back());
  pages.Add(response).IgnoreError();  // ids that came before
  const auto arms = pages.Take();
  for (const std::uint32_t id : {0u, 7u, Arms::kNoId}) {
    const ArmShare share = arms->ShareOf(id);
    BANDANA_CHECK(std::isfinite(share.mean) && share.variance >= 0);
  }
}

void TrySelection(const SelectResponse& response) {
  const auto request = MakeSelectRequest("m", kDimension, "u", Arms::Inline(kArms), 2);
  BANDANA_CHECK(request.ok());
  // With and without windows.
  for (const std::optional<RewardRange>& range :
       {std::optional<RewardRange>(), std::optional<RewardRange>({0, 1})}) {
    const auto ranking = ParseSelectResponse(*request, kDimension, range, response);
    if (!ranking.ok()) continue;
    const int ranks = static_cast<int>(ranking->arms.size());
    BANDANA_CHECK(ranks >= 1 && ranks <= 2 && !ranking->token.empty());
    for (int rank = 0; rank < ranks; ++rank) {
      BANDANA_CHECK(ranking->arms[rank].position >= 0 && ranking->arms[rank].position < 3);
      const auto window = WindowOf(ranking->windows, rank);
      BANDANA_CHECK(window.has_value() == range.has_value());
      if (window) BANDANA_CHECK(IsWindowOf(*range, *window));
    }
  }
}

template <typename Response, typename Try>
void Parse(std::string_view bytes, const Try& go_on) {
  Response response;
  if (response.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) go_on(response);
}

// Reads by hand what protobuf takes. Fields that a device does not read may be anything.
template <typename Message, typename Read, typename Try>
void ByHand(std::string_view bytes, const Read& read, const Try& go_on) {
  const auto response = read(bytes);
  Message message;
  const bool parsed = message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  const auto begins_group = [](char byte) { return (byte & 7) == 3; };
  BANDANA_CHECK(response.ok() || !parsed || std::ranges::any_of(bytes, begins_group));
  if (response.ok()) go_on(*response);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 5) {
    case 0:
      CompareModel(bytes);
      Parse<v1::GetModelResponse>(bytes, TryModel);
      break;
    case 1:
      ByHand<v1::GetPosteriorResponse>(bytes, ReadPosteriorResponse, TryPosterior);
      break;
    case 3:
      ByHand<v1::GetArmEffectsResponse>(bytes, ReadArmEffectsPage, TryArms);
      break;
    case 4:
      TryText(bytes);
      break;
    default:
      ByHand<v1::SelectResponse>(bytes, ReadSelectResponse, TrySelection);
  }
  return 0;
}
