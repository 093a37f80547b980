// Reports of private contexts, from the bytes of a Submit to the sums that a posterior is read
// from: whatever is taken has an entry that the log gives back, and keeps the sums finite. Input:
// the mechanism, then a SubmitRequest.
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/bandits/noisy_gram.h"
#include "common/bandits/statistics.h"
#include "common/base/check.h"
#include "common/model/learners/context_sink.h"
#include "common/model/paths/make_path.h"
#include "common/model/state/event_sink.h"
#include "common/model/state/model_state.h"
#include "common/promise/mechanism.h"
#include "server/models/admission/report_check.h"
#include "server/service/context_reports.h"
#include "tests/support/fake_model.h"
#include "tests/support/model_harness.h"

namespace {

using namespace bandana;          // NOLINT
using namespace bandana::server;  // NOLINT

constexpr int kDimension = 2;
constexpr int kReportsMax = 64;

struct World {
  explicit World(const std::string& config)
      : spec(testing::SpecOf(config)), path(*MakePath(spec, {}, nullptr)) {}
  ModelSpec spec;
  std::unique_ptr<const EventPath> path;
  testing::FakeRegistry registry;
  testing::FakeModel& model = registry.Add(spec);
};

World& WorldOf(std::uint8_t number) {
  static const auto* const worlds = [] {
    const std::string model = "name: 'm' dimension: 2 shared {} mode: LOCAL_CONTEXT ";
    const std::string once = " reporting { one_per_decision: true } ";
    return new std::array<World*, 3>{
        new World(model + "privacy { epsilon: 1 mechanism: PRIVUNIT }" + once),
        new World(model + "privacy { epsilon: 1 delta: 1e-6 mechanism: JOINT_GAUSSIAN }" + once),
        new World(model + "link: LOGISTIC privacy { epsilon: 5 }" + once)};
  }();
  return *(*worlds)[number % worlds->size()];
}

// As the log's writer and its reader do it, one report after the other.
void Learn(const World& world, const std::vector<ReportedContext>& reports) {
  const auto check = MakeContextCheck(world.spec);
  StatisticsSink sink(kDimension, {EmptyStatistics(kDimension)}, 0);
  UserIndex users;
  ModelState state;
  std::uint64_t sequence = 0;
  for (const ReportedContext& report : reports) {
    const auto checked = check->Check(report, absl::FromUnixSeconds(1'000'000'000));
    const auto* const taken = std::get_if<CheckedReport>(&checked);
    if (taken == nullptr) continue;
    const std::string& bytes = taken->request;
    const LogEntry entry{{++sequence, ChainHash({}, bytes)}, bytes};
    const absl::Status applied = state.Apply(entry, *world.path, users, sink);
    BANDANA_CHECK(applied.ok());
  }
  const NodeStatistics& sums = sink.statistics(0);
  for (const double entry : sums.gram) BANDANA_CHECK(std::isfinite(entry));
  for (const double entry : sums.moment) BANDANA_CHECK(std::isfinite(entry));
  BANDANA_CHECK(
      RepairStatistics(NoisySums(sums, world.spec.public_spec.made->contexts()->variance()),
                       world.spec.theta_l2_max)
          .ok());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  World& world = WorldOf(data[0]);
  v1::SubmitRequest request;
  if (!request.ParseFromArray(data + 1, static_cast<int>(size - 1))) return 0;
  // An empty hash stands for the right one.
  if (request.policy_hash().empty()) {
    request.set_policy_hash(std::string(AsChars(world.spec.public_spec.PolicyHash())));
  }
  v1::SubmitResponse response;
  int finished = 0;
  bool taken = false;
  ReportTargets to(world.registry, {world.registry.Find(world.spec.public_spec.name), nullptr});
  SubmitContexts(to, request, kReportsMax, response, [&](const absl::Status& status) {
    ++finished;
    taken = status.ok();
  });
  BANDANA_CHECK(finished == 1);
  BANDANA_CHECK(response.results_size() == (taken ? request.context_reports_size() : 0));
  if (taken) Learn(world, world.model.contexts());
  return 0;
}
