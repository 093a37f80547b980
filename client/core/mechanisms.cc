#include "client/core/mechanisms.h"

#include <utility>

#include "client/core/context_privatizer.h"
#include "client/core/delivery/report_form.h"
#include "client/core/privatizer.h"
#include "client/core/raw_reports.h"
#include "client/core/stream_privatizer.h"
#include "common/promise/mechanism.h"

namespace bandana::device {
namespace {

using Made = absl::StatusOr<std::unique_ptr<EventMechanism>>;

EventOptions OptionsOf(const PublicSpec& spec, const EventOwner& owner, EventTraits traits) {
  return {.model = spec.name,
          .policy = owner.policy,
          .events_max = owner.events_max,
          .range = spec.reward_range,
          .default_reward = spec.default_reward(),
          .bits = owner.bits,
          .traits = traits};
}

Made MakeRaw(const PublicSpec& spec, const EventOwner& owner) {
  return std::make_unique<RawReports>(spec.made->mode().is_private,
                                      OptionsOf(spec, owner, {.form = kOutcomeForm}));
}

Made MakeRandomized(const PublicSpec& spec, const EventOwner& owner) {
  const bool windows = spec.made->rewards()->uses_windows();
  return Privatizer::Create(
      {.rewards = std::shared_ptr<const RewardReports>(spec.made, spec.made->rewards()),
       .cost = *spec.made->cost()},
      OptionsOf(spec, owner,
                {.form = kPerturbedForm,
                 .windows_in = windows ? std::optional(spec.reward_range) : std::nullopt}));
}

Made MakeCounter(const PublicSpec& spec, const EventOwner& owner) {
  return StreamPrivatizer::Create(
      {.design = std::shared_ptr<const CounterDesign>(spec.made, &spec.made->counter()->design),
       .centre = spec.made->counter()->centre,
       .cost = *spec.made->cost(),
       .owner = owner.owner,
       .epoch = owner.epoch},
      OptionsOf(spec, owner, {.form = kPerturbedForm, .ranked_by = RankedBy::kServerKept}));
}

Made MakeContexts(const PublicSpec& spec, const EventOwner& owner) {
  return ContextPrivatizer::Create(
      {.mechanism = spec.made, .link = spec.link, .dimension = spec.dimension},
      OptionsOf(spec, owner, {.form = kContextForm, .ranked_by = RankedBy::kDevice}));
}

}  // namespace

Made MakeEventMechanism(const PublicSpec& spec, const EventOwner& owner) {
  const Mechanism& mechanism = *spec.made;
  if (!mechanism.drawn_on_device()) return MakeRaw(spec, owner);
  if (mechanism.contexts() != nullptr) return MakeContexts(spec, owner);
  if (mechanism.counter() != nullptr) return MakeCounter(spec, owner);
  return MakeRandomized(spec, owner);
}

}  // namespace bandana::device
