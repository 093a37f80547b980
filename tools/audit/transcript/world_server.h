// The server of one world: the real models, service and listeners, without sockets, threads or
// time of their own; and what its observers read.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/design/model_spec.h"
#include "common/model/state/noise_binding.h"
#include "server/models/registry.h"
#include "server/service/recommender.h"
#include "server/service/tokens/token_keys.h"
#include "tools/audit/transcript/follower.h"
#include "tools/audit/transcript/listeners.h"
#include "tools/audit/transcript/mutants.h"
#include "tools/audit/transcript/readings.h"
#include "tools/audit/transcript/recorder.h"

namespace bandana::audit {

struct WorldServerOptions {
  const ModelSpec* spec = nullptr;
  const ModelSpec* other = nullptr;  // a second model; null: there is none
  std::string asked;                 // the name that callers ask by: of the model, or an alias
  std::string folder;                // made when missing
  const Clock* clock = nullptr;
  int catalogue_arms = 0;            // arms 0 to one less are in the catalogue
  CallerApi api = CallerApi::kGrpc;  // how callers come
  CallRate rate;
  bool by_follower = false;               // what reads is answered by a second server
  const NoiseBinding* binding = nullptr;  // of central models
  const Mutant* mutant = nullptr;
};

// Not thread-safe.
class WorldServer {
 public:
  // Errors: as HostedModel::Open and TokenKeys::Open.
  static absl::StatusOr<std::unique_ptr<WorldServer>> Open(const WorldServerOptions& options,
                                                           Recorder& recorder);
  ~WorldServer();

  // One call over a listener. `done` may come later, within another call or Step.
  template <typename Request, typename Response>
  void Call(const Request& request, std::function<void(absl::Status, Response&)> done) {
    listeners_->Call<Request, Response>(request, std::move(done));
    Step();
  }

  // Does the work that is due by the clock.
  void Step();
  server::HostedModel& model();
  // It, then the second one.
  std::vector<std::shared_ptr<server::HostedModel>> models() const;
  server::ModelRegistry& registry() { return *models_; }
  // The epoch that devices are told of by the name they ask by; nullopt: nobody has the name.
  std::optional<std::uint64_t> EpochShown() const;
  // Records the readings that any reader may ask for at any time.
  void RecordReadings();
  // The larger ones: metrics, status page, export.
  void RecordPages();

 private:
  WorldServer(const WorldServerOptions& options, Recorder& recorder);
  absl::Status Start();
  absl::StatusOr<std::unique_ptr<server::ModelRegistry>> OpenModels();
  // The key of both servers; empty: there is one, which makes its own.
  std::string NoiseKeyFile() const;
  absl::Status PutArms(server::HostedModel& model) const;
  void RecordReadingsOf(const server::ServedModel& model);
  server::ServerView View(server::ModelRegistry& registry, ModelWatches& watches);

  const WorldServerOptions options_;
  Recorder& recorder_;
  Readings readings_;
  std::unique_ptr<server::TokenKeys> keys_;
  std::unique_ptr<server::TokenCodec> tokens_;
  std::unique_ptr<server::ModelRegistry> models_;
  std::unique_ptr<server::AnswerKeys> answer_keys_;
  std::unique_ptr<server::DecisionIndex> decision_index_;
  std::unique_ptr<server::Handlers> recommender_;
  const std::shared_ptr<SharedLogs> store_ = std::make_shared<SharedLogs>();
  std::unique_ptr<Follower> follower_;  // null: nobody follows
  class Replicas;
  std::unique_ptr<server::Handlers> replicas_;  // of both servers
  std::unique_ptr<Listeners> listeners_;
  ModelWatches watches_;
  ModelWatches watches_of_follower_;
  const absl::Time started_;
};

}  // namespace bandana::audit
