// The device core under a hostile host: any order of events, answers, commits, clocks and rows. The
// first byte chooses the model.
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "common/base/check.h"
#include "tests/support/fake_recommender.h"
#include "tests/support/hostile_host.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bandana::testing;  // NOLINT(google-build-using-namespace)
  using Leave = bandana::ClientOptions::Leave;
  if (size == 0) return 0;
  static const auto& models = *new std::vector<HostileHost::Options>{
      {.spec = WindowSpec(absl::Seconds(1), 0)},
      {.spec = WindowSpec(absl::Seconds(1), 0), .leave = Leave::kAtStart},
      {.spec = LocalSpec()},
      {.spec = CounterModelSpec()},
      {.spec = ContextModelSpec()},
      {.spec = RawSpec(), .events_per_user_max = 1'000'000}};
  HostileHost host(models[data[0] % models.size()]);
  host.Play({reinterpret_cast<const char*>(data) + 1, size - 1});
  BANDANA_CHECK(host.problems().empty());
  return 0;
}
