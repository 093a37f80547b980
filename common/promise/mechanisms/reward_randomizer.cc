#include "common/promise/mechanisms/reward_randomizer.h"

#include "common/base/status.h"
#include "common/mechanisms/canonical_text.h"
#include "common/mechanisms/centred_window.h"
#include "common/mechanisms/reward_randomizer.h"

namespace bandana {
namespace {

// Clips to the whole range.
class WholeRange : public RewardReports {
 public:
  explicit WholeRange(RewardRandomizer randomizer) : randomizer_(std::move(randomizer)) {}

  std::uint32_t outputs() const override { return randomizer_.outputs(); }
  double VarianceMax() const override { return randomizer_.VarianceMax(); }
  Sha256Digest parameters() const override {
    return CanonicalText("bandana central randomizer 1")
        .Add(randomizer_.options().epsilon.value)
        .Add(randomizer_.range().min)
        .Add(randomizer_.range().max)
        .Add(std::uint64_t{randomizer_.options().binary})
        .Hash();
  }

  Sha256Digest table() const override { return randomizer_.TableDigest(); }

  bool uses_windows() const override { return false; }
  std::optional<RewardRange> WindowFor(double, double, double) const override {
    return std::nullopt;
  }
  bool IsWholeRange(const std::optional<RewardRange>&) const override { return false; }

  ClippedReward Clip(const RawReward& reward, double default_reward,
                     const std::optional<RewardRange>&) const override {
    return randomizer_.Clip(reward, default_reward);
  }
  NoiseInput InputOf(const ClippedReward& reward) const override {
    return randomizer_.InputOf(reward);
  }
  absl::StatusOr<PerturbedReward> Draw(const ClippedReward& reward,
                                       BitSource& bits) const override {
    return randomizer_.Randomize(reward, bits);
  }

  std::variant<RewardEvent, RejectReason> Read(const RewardReport& report, double) const override {
    if (report.whole_range || report.output >= outputs()) return RejectReason::kOutputOutOfRange;
    return WholeEvent(report.output);
  }

 protected:
  const RewardRandomizer& randomizer() const { return randomizer_; }
  RewardEvent WholeEvent(std::uint32_t output) const {
    return {.value = randomizer_.Value(output), .variance = randomizer_.VarianceMax()};
  }

 private:
  const RewardRandomizer randomizer_;
};

// PROOF: centred_randomizer begin
// Clips to the window that the server named with the arm, if it is one.
class Windowed final : public WholeRange {
 public:
  using WholeRange::WholeRange;

  bool uses_windows() const override { return true; }
  std::optional<RewardRange> WindowFor(double mean, double width,
                                       double reward_stddev) const override {
    return CentredWindow(randomizer().range(), mean, width, reward_stddev,
                         randomizer().options().epsilon);
  }
  bool IsWholeRange(const std::optional<RewardRange>& window) const override {
    return !window || !IsWindowOf(randomizer().range(), *window);
  }
  ClippedReward Clip(const RawReward& reward, double default_reward,
                     const std::optional<RewardRange>& window) const override {
    return randomizer().ClipTo(IsWholeRange(window) ? randomizer().range() : *window, reward,
                               default_reward);
  }
  // PROOF: centred_randomizer end

  std::variant<RewardEvent, RejectReason> Read(const RewardReport& report,
                                               double reward_stddev) const override {
    if (report.output >= outputs()) return RejectReason::kOutputOutOfRange;
    if (report.whole_range) return WholeEvent(report.output);
    if (IsWholeRange(report.window)) return RejectReason::kTokenInvalid;
    const RewardRange unit{.min = -1, .max = 1};
    return RewardEvent{.value = randomizer().ValueIn(*report.window, report.output),
                       .scale = EventScale(randomizer(), *report.window, reward_stddev),
                       .variance = randomizer().VarianceMaxIn(*report.window),
                       .place = randomizer().ValueIn(unit, report.output)};
  }
};

class Randomized final : public Mechanism {
 public:
  Randomized(const MechanismRow& row, const PublicSpec& spec,
             std::unique_ptr<const RewardReports> reports)
      : Mechanism(row, spec.mode), epsilon_(spec.epsilon), reports_(std::move(reports)) {}

  std::optional<PrivacyCost> cost() const override { return PrivacyCost::Pure(epsilon_); }
  const RewardReports* rewards() const override { return reports_.get(); }
  double reward_variance() const override { return reports_->VarianceMax(); }
  std::string TableDigest() const override {
    const Sha256Digest digest = reports_->table();
    return drawn_on_device() ? std::string(AsChars(digest)) : "";
  }

 private:
  const Epsilon epsilon_;
  const std::unique_ptr<const RewardReports> reports_;
};

template <typename Reports>
MadeMechanism MakeRandomized(const MechanismRow& row, const PublicSpec& spec) {
  BANDANA_ASSIGN_OR_RETURN(
      RewardRandomizer randomizer,
      RewardRandomizer::Create(
          {.epsilon = spec.epsilon, .range = spec.reward_range, .binary = spec.reward_binary}));
  return std::make_shared<Randomized>(row, spec, std::make_unique<Reports>(std::move(randomizer)));
}

}  // namespace

MadeMechanism MakeRewardRandomizer(const MechanismRow& row, const PublicSpec& spec) {
  return MakeRandomized<WholeRange>(row, spec);
}

void CheckCentredPolicy(const PublicSpec& spec, const FieldChecks& checks) {
  if (!spec.reward_binary) return;
  checks.Add("mechanism", "CENTRED_RANDOMIZER is for rewards that are not binary");
}

MadeMechanism MakeCentredRandomizer(const MechanismRow& row, const PublicSpec& spec) {
  return MakeRandomized<Windowed>(row, spec);
}

}  // namespace bandana
