#include "tools/audit/replay_model.h"

#include <google/protobuf/text_format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/check.h"
#include "common/base/status.h"
#include "common/design/server_mechanism.h"
#include "common/design/user_nodes.h"
#include "common/model/paths/make_path.h"
#include "server/models/folder/export.h"
#include "server/models/folder/stored_config.h"

namespace bandana::audit {
namespace {

constexpr absl::Duration kWindow = absl::Seconds(60);
constexpr absl::Duration kLong = absl::Hours(2);  // past every window and its grace

// No checkpoint but the one in the middle.
constexpr char kHead[] =
    "name: 'm' refresh_interval {} reward_min: -1 reward_max: 1"
    " checkpoint { events: 1000000 interval { seconds: 86400 } } ";
constexpr double kParameter = 0.3;  // of a sparse model, in every coordinate
constexpr char kChain[] =
    "graph { users: 3 rows: [0, 1, 2, 0, 1] columns: [0, 1, 2, 1, 2]"
    " weights: [1, 1, 1, 0.5, 0.5] } ";

const CounterDesign& DesignOfRewards(const ModelSpec& spec) {
  return spec.public_spec.made->counter()->design;
}
const CounterDesign& DesignOfJoint(const ModelSpec& spec) {
  return spec.mechanism->joint()->design();
}

struct Kind {
  const char* name;
  std::string config;
  Deletion deletion = Deletion::kRefused;
  ReleaseForm form = ReleaseForm::kLinear;
  int events = 24;
  const CounterDesign& (*epochs)(const ModelSpec& spec) = nullptr;  // events end with one of its
};

std::string Central(const char* coupling, const char* counter, int dimension = 4) {
  return absl::StrCat("mode: CENTRAL_REWARD dimension: ", dimension, " ", coupling,
                      " privacy { epsilon: 1 delta: 1e-6 ", counter, " } ");
}

// Every coupling that a central mode has, and every kind of counter. EPOCHS has one stream, which
// ends an epoch with its last event.
std::vector<Kind> Kinds() {
  const std::string colin = absl::StrCat("colin { ", kChain, "}");
  const std::string goblin = absl::StrCat("goblin { ", kChain, "}");
  return {
      {"central-blt", Central("shared {}", "mechanism: COUNTER counter { horizon: 10000 }")},
      {"central-tree",
       Central("independent {}",
               "mechanism: COUNTER counter { kind: TREE horizon: 64 steps_max: "
               "128 }"),
       Deletion::kOwnNode},
      {"central-honaker",
       Central(goblin.c_str(),
               "mechanism: COUNTER counter { kind: HONAKER horizon: 64 steps_max: "
               "128 }"),
       Deletion::kName},
      {"central-epochs",
       Central("shared {}", "mechanism: COUNTER counter { kind: EPOCHS horizon: 64 }"),
       Deletion::kRefused, ReleaseForm::kLinear, 0, DesignOfRewards},
      {"central-shaped",
       Central(goblin.c_str(), "mechanism: SHAPED_COUNTER counter { horizon: 10000 }"),
       Deletion::kName},
      {"central-pooled",
       Central(colin.c_str(), "mechanism: POOLED_COUNTER counter { horizon: 10000 }"),
       Deletion::kName},
      {"central-randomizer",
       "mode: CENTRAL_REWARD dimension: 64 shared {} privacy { epsilon: 1 mechanism: "
       "REWARD_RANDOMIZER } ",
       Deletion::kRefused, ReleaseForm::kDraws, 64},
      {"joint-blt",
       "mode: JOINT dimension: 3 independent {} privacy { epsilon: 1 delta: 1e-6 mechanism: "
       "COUNTER "
       "counter { horizon: 10000 } } ",
       Deletion::kOwnNode},
      {"joint-epochs",
       "mode: JOINT dimension: 3 shared {} privacy { epsilon: 1 delta: 1e-6 mechanism: COUNTER "
       "counter { kind: EPOCHS horizon: 64 steps_max: 128 } } ",
       Deletion::kRefused, ReleaseForm::kLinear, 0, DesignOfJoint},
      {"joint-sparse",
       "mode: JOINT dimension: 8 sparse { sparsity: 8 } feature_l2_max: 9 privacy { epsilon: 6 "
       "delta: 1e-5 mechanism: SPARSE_RELEASE } ",
       Deletion::kRefused, ReleaseForm::kValues, 255},
  };
}

ModelSpec SpecOf(const v1::ModelConfig& config) {
  const absl::StatusOr<ModelSpec> spec = server::ParseStoredConfig(config);
  BANDANA_CHECK(spec.ok());
  return *spec;
}

// The least number of events from 20 on whose last one ends an epoch, the one before it none.
int EventsOfEpochs(const Kind& kind, const v1::ModelConfig& config) {
  const ModelSpec spec = SpecOf(config);
  const CounterDesign& design = kind.epochs(spec);
  int events = 20;
  while (design.ReleaseSize(events) == 0 || design.ReleaseSize(events - 1) != 0) ++events;
  return events;
}

std::vector<ReplayModel> MakeModels() {
  std::vector<ReplayModel> models;
  for (const Kind& kind : Kinds()) {
    for (const bool window : {false, true}) {
      ReplayModel model{.name = absl::StrCat(kind.name, window ? "/window" : "/once"),
                        .deletion = kind.deletion,
                        .form = kind.form,
                        .events = kind.events};
      const std::string text =
          absl::StrCat(kHead, kind.config, "reporting { ",
                       window ? "reward_window { duration { seconds: 60 } default_reward: 0.25 }"
                              : "one_per_decision: true",
                       " }");
      BANDANA_CHECK(google::protobuf::TextFormat::ParseFromString(text, &model.config));
      if (model.events == 0) model.events = EventsOfEpochs(kind, model.config);
      models.push_back(std::move(model));
    }
  }
  return models;
}

// Event `i` of all.
struct Event {
  std::vector<double> features;
  double reward = 0;
};

Event EventOf(const ReplayModel& model, int i) {
  const int d = static_cast<int>(model.config.dimension());
  Event event{.features = std::vector<double>(d), .reward = ((i * 5) % 17 - 8) / 8.0};
  if (model.form == ReleaseForm::kDraws) {
    event.features[i] = 1;
  } else {
    // About as long as the bound allows, in directions that do not repeat.
    const double length = model.form == ReleaseForm::kValues ? 1 : 0.9 / std::sqrt(d);
    for (int k = 0; k < d; ++k) event.features[k] = length * std::cos(1.7 * i * (k + 1) + k);
  }
  const bool marked = i == model.events - 2;
  // A reward near the one predicted: a residual that is clipped is the same whatever it was.
  if (model.form == ReleaseForm::kValues) {
    if (marked) event.features.assign(d, kMarkedReward / kParameter / d);
    event.reward = 0;
    for (const double x : event.features) event.reward += kParameter * x;
    event.reward = std::clamp(event.reward, -1.0, 1.0);
  }
  if (marked) event.reward = kMarkedReward;
  return event;
}

Decision DecisionOf(const server::HostedModel& hosted, const Clock& clock, int i,
                    std::vector<double> features) {
  Decision decision;
  decision.instance = hosted.instance();
  decision.epoch = hosted.epoch();
  const std::uint64_t number = i + 1;
  std::memcpy(decision.id.data(), &number, sizeof number);
  decision.time = clock.Now();
  const std::string user = absl::StrCat("user", i % kUsers);
  const int nodes = std::max(1, hosted.spec().coupling.nodes());
  const auto address = UserNodesOf(hosted.spec()).AddressOf(i % nodes, user);
  decision.node = address.node;
  decision.user = std::string(address.user);
  decision.arms.push_back({.propensity = 1, .features = std::move(features)});
  return decision;
}

absl::Status TakeEvent(server::HostedModel& hosted, const Clock& clock, int i, Event event) {
  const Decision decision = DecisionOf(hosted, clock, i, std::move(event.features));
  BANDANA_RETURN_IF_ERROR(hosted.RecordDecision(decision));
  hosted.Step();
  absl::Status answer = Internal("a report was not answered");
  hosted.Report({{.decision = decision, .reward = event.reward}}, [&](auto results) {
    answer = results.status();
    if (results.ok() && results->front().code != v1::APPLIED) {
      answer = Internal("a report was answered ", v1::OutcomeCode_Name(results->front().code));
    }
  });
  hosted.Step();
  return answer;
}

}  // namespace

const std::vector<ReplayModel>& ReplayModels() {
  static const std::vector<ReplayModel>& models = *new std::vector<ReplayModel>(MakeModels());
  return models;
}

std::shared_ptr<const NoiseKey> ReplayKey(int key) {
  std::array<std::byte, 32> bytes{};
  bytes.fill(static_cast<std::byte>(key + 1));
  return std::make_shared<const NoiseKey>(*NoiseKey::FromBytes(bytes));
}

absl::StatusOr<std::unique_ptr<server::HostedModel>> OpenReplayed(const v1::ModelConfig& config,
                                                                  const std::string& folder,
                                                                  const Clock& clock, int key,
                                                                  const NoiseBinding* binding) {
  BANDANA_ASSIGN_OR_RETURN(ModelSpec spec, server::ParseStoredConfig(config));
  server::HostedModelOptions options;
  options.noise_key = ReplayKey(key);
  options.stepped = true;
  options.noise_binding = binding;
  return server::HostedModel::Open(std::move(spec), folder, clock, options);
}

absl::Status RunEvents(const ReplayModel& model, server::HostedModel& hosted, ReplayClock& clock) {
  for (int i = 0; i < model.events; ++i) {
    BANDANA_RETURN_IF_ERROR(TakeEvent(hosted, clock, i, EventOf(model, i)));
    clock.Advance(absl::Seconds(1));
    const bool half = i == model.events / 2;
    if (!half && i + 1 < model.events) continue;
    clock.Advance(kWindow + kLong);
    hosted.Step();
    if (half) BANDANA_RETURN_IF_ERROR(hosted.Checkpoint().status());
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<double>> ReleasesOf(const ReplayModel& model,
                                               std::string_view exported) {
  BANDANA_ASSIGN_OR_RETURN(server::ExportedModel copy, server::DecodeExport(exported));
  BANDANA_ASSIGN_OR_RETURN(const ModelSpec spec, server::ParseStoredConfig(copy.config));
  BANDANA_ASSIGN_OR_RETURN(const auto path, MakePath(spec, {}, ReplayKey(0)));
  server::Checkpoint& checkpoint = copy.checkpoint;
  BANDANA_RETURN_IF_ERROR(server::RestoreStreams(*path, checkpoint));
  std::vector<double> releases;
  if (model.form == ReleaseForm::kDraws) return checkpoint.statistics.front().moment;
  if (model.form == ReleaseForm::kValues) {
    releases.resize(spec.public_spec.dimension);
    // The entry lives as long as the released value.
    const auto estimate = checkpoint.state.sparse.estimate();
    for (const SparseEntry& entry : estimate.value()) releases[entry.coordinate] = entry.value;
    return releases;
  }
  std::vector<std::vector<double>> moments(
      path->streams(static_cast<int>(checkpoint.statistics.size())));
  std::size_t length = 0;  // of those that were not deleted
  for (std::size_t stream = 0; stream < moments.size(); ++stream) {
    const auto released = path->ReleaseOf(checkpoint.state, static_cast<int>(stream));
    moments[stream] = released.value().moment;
    length = std::max(length, moments[stream].size());
  }
  for (std::vector<double>& moment : moments) {
    moment.resize(length);
    releases.insert(releases.end(), moment.begin(), moment.end());
  }
  return releases;
}

}  // namespace bandana::audit
