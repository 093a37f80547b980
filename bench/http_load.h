// Callers of a server's HTTP API.
#pragma once

#include <string>
#include <vector>

#include "absl/time/time.h"

namespace bandana::bench {

// How long each call took, in microseconds.
using Latencies = std::vector<double>;

// A whole request for a decision by the model `m`.
std::string SelectByHttp(const std::string& body);

// Asks for some time over connections that stay open, one call in flight on each, the requests in
// turn. Aborts the program at an answer that is not 200.
Latencies AskByHttp(const std::string& target, const std::vector<std::string>& requests,
                    int connections, absl::Duration time);

}  // namespace bandana::bench
