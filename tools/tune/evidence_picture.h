// A picture of a search: how likely the log is by each number that was turned.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "tools/tune/tune.h"

namespace bandana {

// A panel per number: its value on a logarithmic axis, and the evidence of each replay below the
// best one, on an axis that has the best half of them; the given numbers and the tuned ones are
// marked. Errors: UNAVAILABLE no gnuplot, or the file.
absl::Status DrawEvidence(const Tuning& tuning, const std::string& path);

}  // namespace bandana
