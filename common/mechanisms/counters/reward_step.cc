#include "common/mechanisms/counters/reward_step.h"

#include "common/base/status.h"
#include "common/mechanisms/counters/erase.h"
#include "common/mechanisms/counters/increment.h"

namespace bandana {

// PROOF: device_stream begin
absl::StatusOr<std::vector<double>> StepReward(CounterEncoder& encoder, CounterDecoder& decoder,
                                               std::span<const double> features, double reward,
                                               BitSource& bits) {
  std::vector<double> product(features.begin(), features.end());
  for (double& value : product) value *= reward;
  auto increment = ClippedIncrement::Clip(product, encoder.design().grid());
  Erase(product);
  if (!increment.ok()) return increment.status();
  BANDANA_ASSIGN_OR_RETURN(const CounterRelease release, encoder.Step(*increment, bits));
  BANDANA_RETURN_IF_ERROR(decoder.Push(release));
  return decoder.Estimate();
}
// PROOF: device_stream end

}  // namespace bandana
