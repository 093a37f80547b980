// A model's privacy mechanism: one object, made once from the policy, that says all that both sides
// need to know of the kind. The server has a ServerMechanism beside it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/accounting/composition.h"
#include "common/base/limits.h"
#include "common/mechanisms/counters/counter_design.h"
#include "common/promise/context_reports.h"
#include "common/promise/field_checks.h"
#include "common/promise/kinds.h"
#include "common/promise/mode.h"
#include "common/promise/public_spec.h"
#include "common/promise/reward_reports.h"

namespace bandana {

// The counter of one stream of x (r - centre), of one user. The reader adds centre sum x back,
// which is public.
struct RewardCounter {
  CounterDesign design;
  double centre = 0;  // RewardRange::middle
};

class Mechanism;
using MadeMechanism = absl::StatusOr<std::shared_ptr<const Mechanism>>;

// The form in which devices send an event.
enum class ReportForm {
  kRewards,   // the raw reward
  kOutputs,   // one output of RewardReports
  kStreams,   // the state of a counter that runs on the device
  kContexts,  // context and reward together, as ContextReports has them
};

inline void AllowPolicy(const PublicSpec&, const FieldChecks&) {}

// One row of the table of mechanisms. COUNTER has two: of mode JOINT it is another mechanism.
struct MechanismRow {
  MechanismId id = MechanismId::kUnspecified;
  std::vector<Mode> modes;
  ReportForm drawn = ReportForm::kRewards;  // what devices send in modes in which they draw
  int dimension_max = kDimensionMax;
  bool gaussian = false;  // its noise: it spends all the delta that is allowed; others spend none
  bool has_counter = false;  // with parameters of its own
  // Checks whatever else a policy with it must say.
  void (*check_policy)(const PublicSpec& spec, const FieldChecks& checks) = AllowPolicy;
  // With its part. Errors: INVALID_ARGUMENT. Null: only the server's configuration says all that it
  // is made from.
  MadeMechanism (*make)(const MechanismRow& row, const PublicSpec& spec) = nullptr;
};

// Immutable. Threads: const methods are safe, given a source each.
class Mechanism {
 public:
  virtual ~Mechanism() = default;

  MechanismId id() const { return row_.id; }
  // As in the configuration; "" without privacy.
  virtual std::string name() const { return MechanismName(row_.id); }
  const ModeRow& mode() const { return mode_; }
  // The noise is drawn on the device, so that the server never sees what it hides.
  bool drawn_on_device() const { return mode_.device_draws; }
  ReportForm reports() const { return drawn_on_device() ? row_.drawn : ReportForm::kRewards; }
  // The most that its noise adds to a reward's variance; 0 where the noise is in sums.
  virtual double reward_variance() const { return 0; }
  // Facts that device and server must agree on beyond the policy's fields.
  virtual std::optional<ContextSpec> agreed() const { return std::nullopt; }
  // "proven": a note in docs/privacy is bound to its code. "" without privacy.
  virtual std::string_view guarantee() const { return "proven"; }
  // "event", or "" without privacy.
  virtual std::string_view unit() const { return "event"; }

  // SHA-256 of the integers that devices draw an output by; "" where they draw by no such table.
  virtual std::string TableDigest() const { return ""; }

  // The debit before it draws: of one report, or of the whole stream of a counter. Nothing where it
  // has no part.
  virtual std::optional<PrivacyCost> cost() const = 0;

  // The part that the two sides use. A mechanism has one of them, or none where it draws nothing
  // here, or where its part is the server's (ServerMechanism); the others are null.
  virtual const RewardReports* rewards() const { return nullptr; }
  virtual const RewardCounter* counter() const { return nullptr; }
  virtual const ContextReports* contexts() const { return nullptr; }

  // The promise in one line: mode, mechanism, epsilon, delta and guarantee.
  virtual std::string Line(const PublicSpec& spec) const;
  // Line for those who ask why it is in force, and whatever else there is to say to them, lines.
  virtual std::string InForce(const PublicSpec& spec) const;

 protected:
  Mechanism(const MechanismRow& row, Mode mode) : row_(row), mode_(ModeOf(mode)) {}

 private:
  const MechanismRow& row_;
  const ModeRow& mode_;
};

// ModeRow::make_on_device: with its part; and where the server draws, an object that has its name
// alone.
MadeMechanism MakeByRow(const MechanismRow& row, const PublicSpec& spec);
MadeMechanism MakeNamed(const MechanismRow& row, const PublicSpec& spec);

// Makes the mechanism of a policy as its device needs it: where the server draws, an object that
// has its name alone. Requires a mechanism for its mode (mechanism_table.h). Errors:
// INVALID_ARGUMENT.
MadeMechanism MakeMechanism(const PublicSpec& spec);
// Makes it for the server: with its part wherever the policy says all that it is made from.
MadeMechanism MakeWithPart(const PublicSpec& spec);

// "epsilon 1, delta 0 per event, guarantee proven"
std::string PromiseText(const PublicSpec& spec);

}  // namespace bandana
