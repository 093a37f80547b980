// Log entries: any bytes are records or errors, and any sequence of records that this model's
// entries parse as leaves a state that a checkpoint holds. Input: the model, then entries with two
// bytes of length before each.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/bandits/statistics.h"
#include "common/base/check.h"
#include "common/model/paths/make_path.h"
#include "common/model/state/event_sink.h"
#include "common/model/state/model_state.h"
#include "server/models/folder/checkpoint.h"
#include "tests/support/model_harness.h"

namespace {

using namespace bandana;          // NOLINT
using namespace bandana::server;  // NOLINT

std::shared_ptr<const NoiseKey> Key() {
  std::array<std::byte, 32> bytes{};
  return std::make_shared<const NoiseKey>(*NoiseKey::FromBytes(bytes));
}

struct Model {
  explicit Model(ModelSpec s) : spec(std::move(s)), path(*MakePath(spec, {}, Key())) {}
  ModelSpec spec;
  std::unique_ptr<const EventPath> path;
};

const Model& ModelOf(std::uint8_t number) {
  static const auto* const models = [] {
    const std::string counter =
        "privacy { epsilon: 2 delta: 1e-6 mechanism: COUNTER counter { horizon: 100 } }";
    const std::string once = " reporting { one_per_decision: true } ";
    auto* all = new std::vector<std::unique_ptr<Model>>;
    all->push_back(std::make_unique<Model>(testing::IndependentSpec()));
    all->push_back(std::make_unique<Model>(testing::WindowSpec()));
    all->push_back(std::make_unique<Model>(testing::SpecOf(
        "name: 'm' dimension: 2 mode: LOCAL_REWARD independent {} " + counter + once)));
    all->push_back(std::make_unique<Model>(testing::SpecOf(
        "name: 'm' dimension: 2 mode: CENTRAL_REWARD shared {} " + counter +
        " reporting { reward_window { duration { seconds: 60 } default_reward: 0.25 } }")));
    all->push_back(std::make_unique<Model>(testing::SpecOf(
        "name: 'm' dimension: 2 mode: JOINT sparse {} privacy { epsilon: 2 delta: 1e-6 }" + once)));
    all->push_back(std::make_unique<Model>(testing::SpecOf(
        "name: 'm' dimension: 2 mode: CENTRAL_REWARD shared {} " + counter + once)));
    all->push_back(std::make_unique<Model>(testing::SpecOf(
        "name: 'm' dimension: 2 mode: NON_PRIVATE effects { effects { name: 'pair' "
        "keys { user: true } keys { arm: true } } effects { name: 'arm' keys { arm: true } } }" +
        once)));
    return all;
  }();
  return *(*models)[number % models->size()];
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const Model& model = ModelOf(data[0]);
  std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  const int nodes = model.spec.coupling.independent() ? 0 : model.spec.coupling.nodes();
  const int d = model.path->statistics_dimension();
  StatisticsSink sink(d, std::vector<NodeStatistics>(nodes, EmptyStatistics(d)), 0);
  UserIndex users;
  ModelState state;
  BANDANA_CHECK(model.path->Begin(state).ok());
  for (std::uint64_t sequence = 1; rest.size() >= 2; ++sequence) {
    const std::size_t length = static_cast<unsigned char>(rest[0]) |
                               static_cast<std::size_t>(static_cast<unsigned char>(rest[1])) << 8;
    const std::string_view record = rest.substr(2, length);
    rest.remove_prefix(std::min(rest.size(), 2 + length));
    LogEntry entry{{sequence, ChainHash({}, record)}, std::string(record)};
    // A state that an entry did not fit is not gone on with.
    if (!state.Apply(entry, *model.path, users, sink).ok()) return 0;
  }
  model.path->Settle(state);
  CheckpointSource source{
      .dimension = 2, .events_only = d == 0, .state = &state, .nodes = sink.nodes()};
  source.statistics = [&](int node) -> const NodeStatistics& { return sink.statistics(node); };
  if (model.spec.coupling.independent()) source.users = &users;
  const auto checkpoint = DecodeCheckpoint(EncodeCheckpoint(source));
  BANDANA_CHECK(checkpoint.ok());
  return 0;
}
