#include "client/src/privacy/mechanisms.h"

#include <utility>

#include "client/src/privacy/context_privatizer.h"
#include "client/src/privacy/privatizer.h"
#include "client/src/privacy/raw_reports.h"
#include "client/src/privacy/stream_privatizer.h"
#include "common/accounting/composition.h"
#include "common/base/status.h"
#include "common/design/context_policy.h"
#include "common/design/counter_policy.h"
#include "common/design/privacy_rules.h"

namespace bandana::device {
namespace {

using Made = absl::StatusOr<std::unique_ptr<EventMechanism>>;

Made MakeContexts(const PublicSpec& spec, const MechanismOwner& owner, BitSource* bits) {
  BANDANA_ASSIGN_OR_RETURN(ContextMechanism drawing, ContextMechanism::Create(spec));
  BANDANA_ASSIGN_OR_RETURN(ContextPrivatizer contexts,
                           ContextPrivatizer::Create({.mechanism = std::move(drawing),
                                                      .range = spec.reward_range,
                                                      .link = spec.link,
                                                      .default_reward = spec.default_reward(),
                                                      .dimension = spec.dimension,
                                                      .model = spec.name,
                                                      .policy = owner.policy,
                                                      .events_max = owner.events_max,
                                                      .bits = bits}));
  return std::make_unique<ContextPrivatizer>(std::move(contexts));
}

Made MakeCounter(const PublicSpec& spec, const MechanismOwner& owner, BitSource* bits,
                 ModelEpoch* epoch) {
  BANDANA_ASSIGN_OR_RETURN(CounterDesign design, MakeCounterDesign(spec));
  BANDANA_ASSIGN_OR_RETURN(StreamPrivatizer streams,
                           StreamPrivatizer::Create({.design = std::move(design),
                                                     .centre = RewardCentre(spec),
                                                     .range = spec.reward_range,
                                                     .default_reward = spec.default_reward(),
                                                     .model = spec.name,
                                                     .policy = owner.policy,
                                                     .owner = owner.owner,
                                                     .events_max = owner.events_max,
                                                     .bits = bits,
                                                     .epoch = epoch}));
  return std::make_unique<StreamPrivatizer>(std::move(streams));
}

Made MakeRandomized(const PublicSpec& spec, const MechanismOwner& owner, BitSource* bits) {
  BANDANA_ASSIGN_OR_RETURN(RewardRandomizer randomizer, MakeRandomizer(spec));
  BANDANA_ASSIGN_OR_RETURN(const PrivacyTotals one,
                           Compose(PrivacyTotals(), PrivacyCost::Pure(spec.epsilon)));
  return std::make_unique<Privatizer>(
      Privatizer::Options{.randomizer = std::move(randomizer),
                          .centred = spec.mechanism == v1::CENTRED_RANDOMIZER,
                          .default_reward = spec.default_reward(),
                          .model = spec.name,
                          .policy = owner.policy,
                          .events_max = owner.events_max,
                          .event_cost = one.pure,
                          .bits = bits});
}

}  // namespace

absl::StatusOr<std::unique_ptr<EventMechanism>> MakeEventMechanism(const PublicSpec& spec,
                                                                   const MechanismOwner& owner,
                                                                   BitSource* bits,
                                                                   ModelEpoch* epoch) {
  if (spec.mode == v1::LOCAL_CONTEXT) return MakeContexts(spec, owner, bits);
  if (spec.mode != v1::LOCAL_REWARD) {
    return std::make_unique<RawReports>(
        RawReports::Options{.clips = IsPrivateMode(spec.mode),
                            .range = spec.reward_range,
                            .default_reward = spec.default_reward()});
  }
  if (spec.mechanism == v1::COUNTER) return MakeCounter(spec, owner, bits, epoch);
  return MakeRandomized(spec, owner, bits);
}

}  // namespace bandana::device
