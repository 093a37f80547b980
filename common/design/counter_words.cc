#include "common/design/counter_words.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace bandana {

std::string CounterIdentity(const PublicSpec& spec, const CounterDesign& design) {
  return absl::StrCat(ServedName(spec.counter->kind), " ", ToHex(design.digest()));
}

std::string DescribeCounter(const PublicSpec& spec, const CounterDesign& design,
                            std::string_view scope, std::string_view entry) {
  const std::uint64_t horizon = spec.counter->horizon;
  return absl::StrFormat(
      "%s, %s %s, tuned to %d steps, at most %d, noise sd %.3g in each %s at step %d",
      MechanismName(spec.mechanism), ServedName(spec.counter->kind), scope, horizon,
      spec.counter->steps_max, std::sqrt(design.PredictedVariance(horizon)), entry, horizon);
}

}  // namespace bandana
