#include "common/promise/mechanisms/privunit.h"

#include <cstring>

#include "common/base/status.h"
#include "common/mechanisms/privunit.h"
#include "common/promise/context_mechanism.h"

namespace bandana {
namespace {

class Directions final : public ContextReports {
 public:
  Directions(const JointStatistic& statistic, const PrivUnit& privunit)
      : ContextReports(statistic), privunit_(privunit) {}

  PrivacyCost cost() const override { return privunit_.descriptor().cost; }
  ReportVariance variance() const override {
    const JointVariance variance = privunit_.EntryVariance();
    return {.gram = variance.gram_diagonal, .moment = variance.moment};
  }
  ContextSpec spec() const override {
    return {.grid_bits = statistic().grid_bits(), .parameters = privunit_.descriptor().parameters};
  }
  std::size_t seed_size() const override { return sizeof(PublicSeed); }
  std::size_t values_size() const override { return 0; }

  absl::StatusOr<PerturbedContext> Draw(const ClippedStatistics& statistics,
                                        BitSource& bits) const override {
    return privunit_.Randomize(statistics, bits);
  }
  bool Fits(const ContextReport& report) const override {
    return report.seed.size() == seed_size() && report.values.empty();
  }
  absl::StatusOr<JointEstimate> Decode(const ContextReport& report) const override {
    if (!Fits(report)) return DataLoss("a context report has no seed");
    PublicSeed seed;
    std::memcpy(seed.data(), report.seed.data(), seed.size());
    return privunit_.Decode(seed);
  }

 private:
  const PrivUnit privunit_;
};

}  // namespace

MadeMechanism MakePrivUnit(const MechanismRow& row, const PublicSpec& spec) {
  BANDANA_ASSIGN_OR_RETURN(const JointStatistic statistic,
                           ReportedStatistic(spec, JointStatistic::Options{}.grid_bits));
  BANDANA_ASSIGN_OR_RETURN(const PrivUnit privunit, PrivUnit::Create(statistic, spec.epsilon));
  const CapDesign& design = privunit.design();
  if (!(design.n / design.acceptance <= kPrivUnitNormalsMax)) {
    return InvalidArgument("PRIVUNIT at epsilon ", spec.epsilon.value, " and dimension ",
                           spec.dimension, " costs a device ", design.n / design.acceptance,
                           " normals per report, at most ", kPrivUnitNormalsMax,
                           " are served: lower epsilon, or use fewer features");
  }
  return MakeContextMechanism(row, spec, std::make_unique<Directions>(statistic, privunit));
}

}  // namespace bandana
