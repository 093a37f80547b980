// A model's privacy mechanism: one object, made once from the checked configuration, that says
// all that code elsewhere needs to know of the kind.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/accounting/composition.h"
#include "common/bandits/sparse/fliphat.h"
#include "common/base/limits.h"
#include "common/design/context_reports.h"
#include "common/design/field_checks.h"
#include "common/design/mechanism_rules.h"
#include "common/design/mode.h"
#include "common/design/model_spec.h"
#include "common/design/reward_reports.h"
#include "common/mechanisms/counters/counter_design.h"
#include "common/mechanisms/joint/joint_counter.h"

namespace bandana {

// The counter of one stream of x (r - centre), of one user. The reader adds centre sum x back,
// which is public.
struct RewardCounter {
  CounterDesign design;
  double centre = 0;  // RewardRange::middle
};

// One counter over all users: an event of user u enters it as (Q^1/2)_(:,u) (x) x (r - centre),
// docs/design/mechanisms.md#noise-shaped-across-users.
struct ShapedCounter {
  CounterDesign design;  // of nodes x d coordinates
  double centre = 0;     // RewardRange::middle
  // Q^1/2 of a component, n x n row-major, symmetric, columns of norm <= 1. Errors:
  // INVALID_ARGUMENT as ShapeNoise.
  absl::StatusOr<std::vector<double>> (*root)(const CouplingComponent& component) = nullptr;
};

class Mechanism;
using MadeMechanism = absl::StatusOr<std::shared_ptr<const Mechanism>>;

// What devices send of an event.
enum class ReportForm {
  kRewards,   // the raw reward
  kOutputs,   // one output of RewardReports
  kStreams,   // the state of a counter that runs on the device
  kContexts,  // context and reward together, as ContextReports has them
};

inline void AllowPolicy(const PublicSpec&, const FieldChecks&) {}
inline void AllowModel(const ModelSpec&, const FieldChecks&) {}

// Why counters refuse half_life: they release sums over all their steps together.
inline constexpr std::string_view kReleasesSums =
    "its releases are sums over all events, from which none can be taken away";

// One row of the table of mechanisms. COUNTER has two: of mode JOINT it is another mechanism.
struct MechanismRow {
  v1::Mechanism id = v1::MECHANISM_UNSPECIFIED;
  std::vector<v1::Mode> modes;
  std::vector<std::string_view> families = {"linear"};  // by name: whose models may have it
  ReportForm drawn = ReportForm::kRewards;  // what devices send in modes in which they draw
  int dimension_max = kDimensionMax;
  const DeltaRule* delta = &PureDelta();
  const CounterRule* counter = &NoCounter();
  // What else a policy with it must say, on both sides; and a configuration, which has no mistakes
  // so far.
  void (*check_policy)(const PublicSpec& spec, const FieldChecks& checks) = AllowPolicy;
  void (*check)(const ModelSpec& spec, const FieldChecks& checks) = AllowModel;
  // Why its models cannot forget (ModelConfig.half_life), said of the mechanism; "": they can, as
  // far as their family does.
  std::string_view keeps = kReleasesSums;
  std::string_view field = "privacy";  // where it is said that a mechanism cannot be made
  std::string_view remark;             // for people who ask why it is in force
  // From the public policy, on both sides. Errors: INVALID_ARGUMENT.
  MadeMechanism (*make)(const MechanismRow& row, const PublicSpec& spec) = nullptr;
  // Where the policy is not all of it: on the server alone, in place of `make`.
  MadeMechanism (*make_served)(const MechanismRow& row, const ModelSpec& spec) = nullptr;
};

// Immutable. Threads: const methods are safe, given a source each.
class Mechanism {
 public:
  virtual ~Mechanism() = default;

  v1::Mechanism id() const { return row_.id; }
  // As in the configuration; "" without privacy.
  virtual std::string name() const { return v1::Mechanism_Name(row_.id); }
  const ModeRow& mode() const { return mode_; }
  // The noise is drawn on the device, so that the server never sees what it hides.
  bool drawn_on_device() const { return mode_.device_draws; }
  ReportForm reports() const { return drawn_on_device() ? row_.drawn : ReportForm::kRewards; }
  // The most that its noise adds to a reward's variance; 0 where the noise is in sums.
  virtual double reward_variance() const { return 0; }
  // What device and server must agree on beyond the policy's fields.
  virtual std::optional<ContextSpec> agreed() const { return std::nullopt; }
  // "proven": a note in docs/privacy is bound to its code. "" without privacy.
  virtual std::string_view guarantee() const { return "proven"; }
  // "event", or "" without privacy.
  virtual std::string_view unit() const { return "event"; }

  // What is debited before it draws: of one report, or of the whole stream of a counter. Nothing
  // where it draws nothing here.
  virtual std::optional<PrivacyCost> cost() const = 0;

  // What it is to the two sides. A mechanism has one of these parts, or none where it draws
  // nothing here; the others are null.
  virtual const RewardReports* rewards() const { return nullptr; }
  virtual const RewardCounter* counter() const { return nullptr; }
  virtual const ShapedCounter* shaped() const { return nullptr; }
  virtual const JointCounter* joint() const { return nullptr; }
  virtual const ContextReports* contexts() const { return nullptr; }
  virtual const Fliphat* sparse() const { return nullptr; }

  // Reports what a server's configuration must not say, once it is made from it.
  virtual void Check(const ModelSpec&, const FieldChecks&) const {}

  // What stored state depends on beyond the policy: names and values, for the model's identity.
  virtual std::vector<std::pair<std::string, std::string>> IdentityFields(
      const ModelSpec& spec) const = 0;
  // One line for people: what it does and how much noise that is. Requires the spec it was made
  // from.
  virtual std::string Describe(const ModelSpec& spec) const = 0;
  // What is promised, in one line: mode, mechanism, epsilon, delta and guarantee.
  virtual std::string Line(const PublicSpec& spec) const;
  // The same for those who ask why it is in force, and what else there is to say to them, lines.
  virtual std::string InForce(const PublicSpec& spec) const;
  std::string_view remark() const { return row_.remark; }
  // What a server says of it at its start, as names and lines.
  virtual std::vector<std::pair<std::string, std::string>> Summary(const ModelSpec& spec) const;
  // Why the promise is not for real users, or "".
  virtual std::string Warning(const PublicSpec& spec) const;

 protected:
  Mechanism(const MechanismRow& row, v1::Mode mode) : row_(row), mode_(ModeOf(mode)) {}

 private:
  const MechanismRow& row_;
  const ModeRow& mode_;
};

// ModeRow::make_on_device: all of it; and where the server draws, an object that has its name
// alone.
MadeMechanism MakeByRow(const MechanismRow& row, const PublicSpec& spec);
MadeMechanism MakeNamed(const MechanismRow& row, const PublicSpec& spec);

// Makes the mechanism of a policy as its device needs it: where the server draws, an object that
// has its name alone. Requires a mechanism for its mode (mechanism_table.h). Errors:
// INVALID_ARGUMENT.
MadeMechanism MakeMechanism(const PublicSpec& spec);
// The same for the server.
MadeMechanism MakeMechanism(const ModelSpec& spec);

}  // namespace bandana
