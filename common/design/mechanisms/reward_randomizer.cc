#include "common/design/mechanisms/reward_randomizer.h"

#include <cmath>

#include "absl/strings/str_format.h"
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

  std::variant<RewardEvent, v1::RejectReason> Read(const RewardReport& report,
                                                   double) const override {
    if (report.whole_range || report.output >= outputs()) return v1::OUTPUT_OUT_OF_RANGE;
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

  std::variant<RewardEvent, v1::RejectReason> Read(const RewardReport& report,
                                                   double reward_stddev) const override {
    if (report.output >= outputs()) return v1::OUTPUT_OUT_OF_RANGE;
    if (report.whole_range) return WholeEvent(report.output);
    if (IsWholeRange(report.window)) return v1::TOKEN_INVALID;
    const RewardRange unit{.min = -1, .max = 1};
    return RewardEvent{.value = randomizer().ValueIn(*report.window, report.output),
                       .scale = EventScale(randomizer(), *report.window, reward_stddev),
                       .variance = randomizer().VarianceMaxIn(*report.window),
                       .place = randomizer().ValueIn(unit, report.output)};
  }
};

struct KindWords {
  RandomizerKind kind;
  const char* words;
};
constexpr KindWords kKindWords[] = {
    {RandomizerKind::kRandomizedResponse, "randomized response on binary rewards"},
    {RandomizerKind::kStochasticRounding, "stochastic rounding to one bit"},
    {RandomizerKind::kHybrid, "hybrid of piecewise and one bit"},
};

std::string WordsOf(RandomizerKind kind) {
  for (const KindWords& row : kKindWords) {
    if (row.kind == kind) return row.words;
  }
  return "";
}

class Randomized final : public Mechanism {
 public:
  Randomized(const MechanismRow& row, const PublicSpec& spec, RandomizerKind kind,
             std::unique_ptr<const RewardReports> reports, std::string_view narrowing)
      : Mechanism(row, spec.mode),
        epsilon_(spec.epsilon),
        kind_(kind),
        reports_(std::move(reports)),
        narrowing_(narrowing) {}

  std::optional<PrivacyCost> cost() const override { return PrivacyCost::Pure(epsilon_); }
  const RewardReports* rewards() const override { return reports_.get(); }
  double reward_variance() const override { return reports_->VarianceMax(); }
  std::vector<std::pair<std::string, std::string>> IdentityFields(const ModelSpec&) const override {
    return {};
  }
  std::string Describe(const ModelSpec& spec) const override {
    std::string text =
        absl::StrFormat("%s, %s, worst-case reward noise sd %.3g%s", name(), WordsOf(kind_),
                        std::sqrt(reports_->VarianceMax()), narrowing_);
    if (spec.config.privacy().delta() > 0) {
      absl::StrAppendFormat(&text, "; delta %g allowed, 0 used: the mechanism is pure",
                            spec.config.privacy().delta());
    }
    return text;
  }

 private:
  const Epsilon epsilon_;
  const RandomizerKind kind_;
  const std::unique_ptr<const RewardReports> reports_;
  const std::string_view narrowing_;
};

template <typename Reports>
MadeMechanism MakeRandomized(const MechanismRow& row, const PublicSpec& spec,
                             std::string_view narrowing) {
  BANDANA_ASSIGN_OR_RETURN(
      RewardRandomizer randomizer,
      RewardRandomizer::Create(
          {.epsilon = spec.epsilon, .range = spec.reward_range, .binary = spec.reward_binary}));
  const RandomizerKind kind = randomizer.kind();
  return std::make_shared<Randomized>(row, spec, kind,
                                      std::make_unique<Reports>(std::move(randomizer)), narrowing);
}

}  // namespace

MadeMechanism MakeRewardRandomizer(const MechanismRow& row, const PublicSpec& spec) {
  return MakeRandomized<WholeRange>(row, spec, "");
}

void CheckCentredPolicy(const PublicSpec& spec, const FieldChecks& checks) {
  if (!spec.reward_binary) return;
  checks.Add("mechanism", "CENTRED_RANDOMIZER is for rewards that are not binary");
}

void CheckCentredModel(const ModelSpec& spec, const FieldChecks& checks) {
  if (!spec.effects || !spec.effects->learn_scales) return;
  checks.Add("effects.learn_scales",
             "is not for CENTRED_RANDOMIZER: windows and scales would feed each other");
}

MadeMechanism MakeCentredRandomizer(const MechanismRow& row, const PublicSpec& spec) {
  return MakeRandomized<Windowed>(row, spec, ", less as the posterior narrows");
}

}  // namespace bandana
