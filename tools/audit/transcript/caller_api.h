// How callers without the SDK, and everybody who reads, come to a world's server.
#pragma once

#include <cstdint>

namespace bandana::audit {

enum class CallerApi : std::uint8_t { kGrpc, kJson, kGrpcWeb, kPersonalizer };

// The rate of the one principal whose token all callers share; 0 calls: unlimited.
struct CallRate {
  double calls_per_second = 0;
  std::uint32_t burst = 1;
};

inline bool ByHttp(CallerApi api) { return api != CallerApi::kGrpc; }

}  // namespace bandana::audit
