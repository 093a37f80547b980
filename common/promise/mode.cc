#include "common/promise/mode.h"

#include "common/base/check.h"
#include "common/promise/mechanism.h"
#include "common/promise/mechanism_table.h"
#include "common/promise/model_message.h"
#include "common/promise/model_rules.h"
#include "common/promise/privacy_rules.h"

namespace bandana {
namespace {

constexpr std::string_view kJointCouplings[] = {"shared", "independent", "sparse"};
constexpr std::string_view kContextCouplings[] = {"shared"};

// Addresses of noise name the data: NoiseAddress::input.
constexpr std::pair<std::string_view, std::string_view> kNoiseIdentity[] = {{"noise", "2"}};

constexpr std::string_view kNoPolicy =
    "is for modes NON_PRIVATE and LOCAL_REWARD; models of the other modes choose by UCB";

// A mechanism with its parameters.
void CheckPrivate(const wire::Model& model, PublicSpec& spec, const FieldChecks& checks) {
  const MechanismRow* const row = FindMechanism(MechanismId{model.mechanism});
  spec.epsilon = CheckEpsilon(model.epsilon, model.research, checks);
  if (row == nullptr) {
    checks.Add("mechanism", "is not one that this version knows");
    return;
  }
  CheckMode(row->id, Mode{model.mode}, checks);
  spec.delta = CheckDelta(*row, model.delta, model.research, checks);
  if (row->has_counter != model.counter.has_value()) {
    checks.Add("counter", "must be there exactly with a counter");
  } else if (row->has_counter) {
    spec.counter = CheckCounter("counter", *model.counter, checks);
  }
  row->check_policy(spec, checks);
  if (model.unit_of_privacy != "event") checks.Add("unit_of_privacy", "must be event");
  if (model.guarantee != "proven") checks.Add("guarantee", "must be proven");
}

// Nothing. A mode that this version does not know is a mistake.
void CheckOpen(const wire::Model& model, PublicSpec&, const FieldChecks& checks) {
  if (FindMode(Mode{model.mode}) == nullptr) {
    checks.Add("mode", "is not one that this version knows");
  }
  if (FindMechanism(MechanismId{model.mechanism}, Mode::kNonPrivate) == nullptr ||
      !(model.epsilon == 0) || !(model.delta == 0) || !model.unit_of_privacy.empty() ||
      !model.guarantee.empty() || model.counter) {
    checks.Add("mode", "contradicts a mechanism, epsilon, delta, counter, unit or guarantee");
  }
}

constexpr ModeRow kModes[] = {
    {.mode = Mode::kNonPrivate,
     .numbers_decisions = true,
     .decisions_open_max = kNumberedIdsMaxDefault,
     .words = "the server sees raw rewards and promises nothing",
     .check_policy = CheckOpen,
     .make_on_device = MakeByRow},
    {.mode = Mode::kLocalReward,
     .is_private = true,
     .device_draws = true,
     .numbers_decisions = true,
     .decisions_open_max = kNumberedIdsMaxDefault,
     .words = "the server never sees a reward",
     .check_policy = CheckPrivate,
     .make_on_device = MakeByRow},
    {.mode = Mode::kCentralReward,
     .is_private = true,
     .server_draws = true,
     .numbers_decisions = true,
     .decisions_open_max = kNumberedIdsMaxDefault,
     .no_policy = kNoPolicy,
     .words = "the server sees raw rewards and publishes noised statistics only",
     .check_policy = CheckPrivate,
     .make_on_device = MakeNamed,
     .identity = kNoiseIdentity},
    {.mode = Mode::kJoint,
     .is_private = true,
     .server_draws = true,
     .hides_contexts = true,
     .values = ValueRule::kHidden,
     .numbers_decisions = true,
     .decisions_open_max = kNumberedIdsMaxDefault,
     .no_policy = kNoPolicy,
     .no_slots = "mode JOINT hides a whole round: a decision is one event, with one arm shown",
     .couplings = kJointCouplings,
     .couplings_message = "must be shared, independent or sparse for mode JOINT",
     .words = "the server sees contexts and raw rewards; what others are served hides any one "
              "round's",
     .check_policy = CheckPrivate,
     .make_on_device = MakeNamed,
     .identity = kNoiseIdentity},
    {.mode = Mode::kLocalContext,
     .is_private = true,
     .device_draws = true,
     .hides_contexts = true,
     .contexts_on_device = true,
     .values = ValueRule::kHidden,
     .no_select = "model is LOCAL_CONTEXT: the device chooses the arm, from GetPosterior",
     .no_catalogue = "LOCAL_CONTEXT: arms stay on the devices",
     .no_users = "user: must be empty, the model is LOCAL_CONTEXT: nothing names a user",
     .no_policy = kNoPolicy,
     .no_slots = "in mode LOCAL_CONTEXT a decision is one event, of the arm that was shown",
     .couplings = kContextCouplings,
     .couplings_message = "must be shared for mode LOCAL_CONTEXT: no report names its user",
     .words = "the server never sees a context, an arm or a reward",
     .check_policy = CheckPrivate,
     .make_on_device = MakeByRow},
};

constexpr ModeRow kUnknown{.check_policy = CheckOpen};

const ModeRow& KnownOr(Mode mode) {
  const ModeRow* const row = FindMode(mode);
  return row == nullptr ? kUnknown : *row;
}

}  // namespace

const ModeRow* FindMode(Mode mode) {
  for (const ModeRow& row : kModes) {
    if (row.mode == mode) return &row;
  }
  return nullptr;
}

bool IsPrivateMode(Mode mode) { return KnownOr(mode).is_private; }
std::uint64_t DecisionsOpenMaxOf(Mode mode) { return KnownOr(mode).decisions_open_max; }
bool IsLocalMode(Mode mode) { return KnownOr(mode).device_draws; }
bool IsCentralMode(Mode mode) { return KnownOr(mode).server_draws; }
bool NamesGrace(Mode mode) { return KnownOr(mode).is_private; }
bool HidesContexts(Mode mode) { return KnownOr(mode).hides_contexts; }

void CheckPolicyOfMode(const wire::Model& model, PublicSpec& spec, const FieldChecks& checks) {
  KnownOr(Mode{model.mode}).check_policy(model, spec, checks);
}

const ModeRow& ModeOf(Mode mode) {
  const ModeRow* const row = FindMode(mode);
  BANDANA_CHECK(row != nullptr);
  return *row;
}

}  // namespace bandana
