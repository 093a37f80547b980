#include "tools/environments/environment.h"

#include <algorithm>
#include <numeric>

#include "common/base/check.h"
#include "common/base/status.h"
#include "tools/environments/bernoulli_arms.h"
#include "tools/environments/collaborative.h"
#include "tools/environments/crowd.h"
#include "tools/environments/hetrec.h"
#include "tools/environments/quadratic_points.h"
#include "tools/environments/sparse.h"
#include "tools/environments/sphere.h"

namespace bandana {

double Choice::BestExpected() const {
  BANDANA_CHECK(!expected.empty());
  return *std::max_element(expected.begin(), expected.end());
}

double Choice::MeanExpected() const {
  BANDANA_CHECK(!expected.empty());
  return std::accumulate(expected.begin(), expected.end(), 0.0) /
         static_cast<double>(expected.size());
}

absl::StatusOr<std::unique_ptr<Environment>> MakeEnvironment(std::string_view spec,
                                                             Settings settings,
                                                             std::uint64_t seed) {
  if (spec == "synthetic")
    return MakeCollaborative(CollaborativePreset::kSynthetic, settings, seed);
  if (spec == "banditlib")
    return MakeCollaborative(CollaborativePreset::kBanditLib, settings, seed);
  if (spec == "crowd") return MakeCrowd(settings, seed);
  if (spec == "sphere") return MakeSphere(settings, seed);
  if (spec == "sparse") return MakeSparse(settings, seed);
  if (spec == "mab") return MakeBernoulliArms(settings, seed);
  if (spec == "points") return MakeQuadraticPoints(settings, seed);
  constexpr std::string_view kHetrec = "hetrec:";
  if (spec.starts_with(kHetrec)) return MakeHetrec(spec.substr(kHetrec.size()), settings, seed);
  return InvalidArgument(
      "environment must be synthetic, banditlib, crowd, sphere, sparse, mab, points or "
      "hetrec:DIR[:replay], got `",
      ToAbsl(spec), "`");
}

}  // namespace bandana
