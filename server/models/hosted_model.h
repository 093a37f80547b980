// A model that this server owns: configuration, durable log, statistics, posterior, published
// snapshot. The service room talks to nothing else; everything here is transport-free.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "bandana/v1/admin.pb.h"
#include "bandana/v1/config.pb.h"
#include "common/base/clock.h"
#include "common/base/file.h"
#include "common/design/model_spec.h"
#include "common/model/entries/decision.h"
#include "common/model/entries/report.h"
#include "common/model/state/noise_binding.h"
#include "common/random/keyed_stream.h"
#include "server/decisions/user_pseudonym.h"
#include "server/log/log_engine.h"
#include "server/models/exported_file.h"
#include "server/models/folder/checkpoint_seal.h"
#include "server/models/folder/checkpoint_store.h"
#include "server/models/replicas/part_question.h"
#include "server/models/replicas/part_store.h"
#include "server/models/served_model.h"
#include "server/models/users/user_batch.h"

namespace bandana::server {

using FreeBytesOf = std::function<absl::StatusOr<std::uint64_t>(const std::string& folder)>;

// Called exactly once, possibly on the log's thread, once everything accepted is durable. A status
// other than OK means the log could not take the call: nothing is promised about any outcome (a
// repeat is safe).
using ReportDone = std::function<void(absl::StatusOr<std::vector<ReportResult>>)>;

struct HostedModelOptions {
  std::shared_ptr<const LogEngine> log = DefaultLogEngine();
  // Longest sleep of the model's own thread: how late due windows and expired ids may be noticed.
  absl::Duration tick_max = absl::Seconds(1);
  // How far the wall clock may be ahead of the newest time in the log (LogClock).
  absl::Duration clock_ahead_max = absl::InfiniteDuration();
  // Log entries between two recomputations of a coupled posterior from its statistics; even, at
  // least 2. Rounding adds about one part in 1e16 per event; at 2500 rows a recomputation costs as
  // much as some 6000 events in blocks. It goes on beside the loop, and is taken half of them
  // later.
  std::uint64_t rebuild_entries = 1 << 17;
  // LogWriter::Options.
  std::shared_ptr<const std::atomic<int>> kind_read;
  // The key of a central model's noise; such a model does not open without.
  std::shared_ptr<const NoiseKey> noise_key;
  // The key of the users' pseudonyms in decision logs; a model that keeps one does not open
  // without.
  std::shared_ptr<const PseudonymKey> pseudonym_key;
  // Where servers of one store say what they have of decision logs; null: nobody shares them.
  std::shared_ptr<PartStore> parts;
  // Asks the other servers of the store; null: there are none.
  std::function<std::vector<PartAnswer>(const PartQuestion& question)> ask_parts;
  // The seal of checkpoints; null: not sealed. Files sealed before do not open without.
  std::shared_ptr<const CheckpointSeal> checkpoint_seal;
  // From this size on a checkpoint is the base of those after it, which say what changed since.
  std::uint64_t checkpoint_base_bytes_min = CheckpointStore::kBaseBytesMin;
  // Told of each step towards a release, on the model's thread: "durable" (entries, with the debits
  // before them), "drawn", "persisted" (the position, central models), "published". Tests end the
  // process there.
  std::function<void(std::string_view step)> trace;
  // For audits and tests: the model has no threads, Step does what they would. Then all calls come
  // from one thread at a time, and none from within a callback.
  bool stepped = false;
  // For bandana-audit, which breaks it on purpose; null in every server. Must outlive the model.
  const NoiseBinding* noise_binding = nullptr;
  // Open although the store was put back to the past (NeedsEpoch): every principal is charged once
  // more, and a new epoch is open when Open returns. Nothing is published before.
  bool accept_lost = false;
  // Why the store may be of the past although this server's own record fits it; accept_lost goes on
  // all the same.
  absl::Status doubt;
  // The releases of the model that other servers have shown: the log must hold those too.
  std::vector<Published> elsewhere;
  // A checkpoint of the same log, encoded, that this server has followed to: it is begun from where
  // it is newer than those of the store. Null: there is none.
  std::shared_ptr<const std::string> followed;
  // Told what an operator should know although nothing fails. Default: nobody.
  std::function<void(const std::string&)> warn;
  // The free bytes of a folder's disk.
  FreeBytesOf free_bytes = FreeBytes;
};

// Takes reports. Threads: all methods are safe.
class ReportedModel {
 public:
  virtual ~ReportedModel() = default;

  // Deferred decisions, the slots of each, that are shown now: as RecordSlots, with a window from
  // now on. Calls back when durable. Per decision:
  //   APPLIED   it counts, from now on or since an earlier call.
  //   EXPIRED   it is older than EventRule::activated_within.
  //   REJECTED  TOKEN_FOREIGN (of another epoch, or its user was deleted); TOKEN_INVALID (does not
  //             fit the model); USER_LIMIT; STREAM_EXHAUSTED.
  // The whole call is UNAVAILABLE as for Report, and FAILED_PRECONDITION where no window is closed
  // here.
  virtual void Activate(std::vector<std::vector<Decision>> decisions, ReportDone done) = 0;

  // Validates, clips, takes each decision once, and calls back when durable. Where the server
  // closes windows a report overwrites the decision's cell, and nothing else changes; what the cell
  // holds becomes an event at the close of window and grace. Per outcome:
  //   APPLIED    in the log, or in the cell; private models with a window: also of a repeat, which
  //              changes nothing.
  //   DUPLICATE  this decision was reported before; the first report stands.
  //   EXPIRED    later than the token's life, or no decision is open (reward windows): the default
  //              stands.
  //   REJECTED   SHOWN_OUT_OF_RANGE, also of another rank than Select's in private models with a
  //              window; OUTPUT_OUT_OF_RANGE; REWARD_MISSING (or NaN, where there is no
  //              default); REWARD_OUT_OF_RANGE; TOKEN_FOREIGN (of another epoch); TOKEN_INVALID
  //              (does not fit the model); USER_LIMIT (users_max, or events_per_user_max in this
  //              epoch for nodes that stand for one user).
  //              STREAM_EXHAUSTED (central counter: steps_max events of the node in this epoch).
  // The whole call is UNAVAILABLE when the log cannot take it or decisions_open_max is reached, and
  // FAILED_PRECONDITION when every outcome is exhausted: the model serves on, an operator may open
  // a new epoch.
  virtual void Report(std::vector<ReportedOutcome> outcomes, ReportDone done) = 0;

  // LOCAL_REWARD with a counter: takes the newest release of each stream with the contexts of the
  // steps since the one before, together. Per report, all of it or nothing:
  //   APPLIED    the stream stands at `step`. A step whose token has expired, does not open, or
  //              whose decision was reported before, does not hold it up: its features are lost.
  //   DUPLICATE  `step` was received before.
  //   REJECTED   STREAM_GAP; STREAM_FORKED; STREAM_EXHAUSTED (steps_max, or streams of the node or
  //              model); TOKEN_FOREIGN (of another epoch); TOKEN_INVALID (no token opens in a new
  //              stream, tokens of two nodes); SHOWN_OUT_OF_RANGE; OUTPUT_OUT_OF_RANGE (a moment
  //              that no counter releases); USER_LIMIT.
  // The whole call is UNAVAILABLE as for Report.
  virtual void ReportCounters(std::vector<ReportedCounter> reports, ReportDone done) = 0;

  // LOCAL_CONTEXT: takes perturbed events, each id once while it is remembered (token_lifetime from
  // its first arrival). Per report:
  //   APPLIED    in the log.
  //   DUPLICATE  a report of this id came before.
  //   REJECTED   TOKEN_FOREIGN (drawn in another epoch); OUTPUT_OUT_OF_RANGE (integers that no
  //   device
  //              releases).
  // The whole call is UNAVAILABLE as for Report.
  virtual void ReportContexts(std::vector<ReportedContext> reports, ReportDone done) = 0;
};

// Changes arms, users, graph and epoch, and copies the model. Threads: all methods are safe.
class AdministeredModel {
 public:
  virtual ~AdministeredModel() = default;

  // All arms take effect together, durable on return. Norms above the bound are clipped or refused
  // like features of a request. Errors: INVALID_ARGUMENT naming the arm, or an id that is there
  // twice; FAILED_PRECONDITION beyond arms_max, a model of points, or LOCAL_CONTEXT, where arms
  // stay on the devices; UNAVAILABLE I/O.
  virtual absl::Status PutArms(std::span<const CatalogueArm> arms,
                               v1::PutArmsResponse* response) = 0;
  // Ids that are not in the catalogue are ignored. Errors: UNAVAILABLE I/O.
  virtual absl::StatusOr<v1::RemoveArmsResponse> RemoveArms(std::span<const std::uint32_t> ids) = 0;
  // An empty batch for PutUsers. Errors: FAILED_PRECONDITION a model with neither groups of users
  // nor a graph.
  virtual absl::StatusOr<UserBatch> NewUsers() const = 0;
  // All users or none: durable on return, and in the decisions from then on. Groups that the batch
  // leaves to friends are filled in. Events of a user who gets another node stay with the former.
  // Errors: FAILED_PRECONDITION beyond users_max, too many values of one group, or another node in
  // a private model; RESOURCE_EXHAUSTED the disk is full; UNAVAILABLE I/O.
  virtual absl::Status PutUsers(UserBatch& batch, v1::PutUsersResponse* response) = 0;
  // Forgets users: docs/design/users.md says for each kind of model what goes and what stays.
  // Durable and in the posterior on return, and no file of the folder has their bytes. Unknown ids,
  // and ids that are there twice, are no error. Errors: INVALID_ARGUMENT not 1 to 1000 ids, or the
  // length of one; FAILED_PRECONDITION a model that knows nothing of single users, or whose
  // configuration names one of these; RESOURCE_EXHAUSTED the disk is full; UNAVAILABLE I/O or the
  // log: perhaps a part is forgotten, and a repeat is safe.
  virtual absl::StatusOr<v1::DeleteUsersResponse> DeleteUsers(std::span<const std::string> ids) = 0;
  // At most `limit` users whose ids are greater than `after`, in order of their ids. Errors:
  // INVALID_ARGUMENT the limit; FAILED_PRECONDITION a model that keeps no ids; UNAVAILABLE I/O.
  virtual absl::StatusOr<v1::ListUsersResponse> ListUsers(std::string_view after,
                                                          std::uint32_t limit) const = 0;
  // Everything that is kept of the user and of nobody else. Errors: INVALID_ARGUMENT the id's
  // length; NOT_FOUND; FAILED_PRECONDITION a model that knows nothing of single users; UNAVAILABLE.
  virtual absl::StatusOr<v1::ExportUserResponse> ExportUser(const std::string& id) = 0;
  // Returns when durable and in the posterior. Errors: FAILED_PRECONDITION not a graph model;
  // INVALID_ARGUMENT the graph; UNAVAILABLE the log.
  virtual absl::Status PutGraph(const v1::Graph& graph) = 0;
  // Closes the windows that are open, each with its reported or default reward, and starts the
  // limits of events per user anew; counter streams end, and new ones are debited anew; the
  // statistics and releases stay and the ledger goes on adding. Returns the new epoch when durable.
  virtual absl::StatusOr<std::uint64_t> OpenEpoch() = 0;
  // Waits until everything durable is applied, writes the checkpoint, trims the log.
  virtual absl::StatusOr<v1::CheckpointResponse> Checkpoint() = 0;
  // Configuration, state, catalogue and users in one file (docs/formats/checkpoint.md), for
  // ModelRegistry::Import. Errors: RESOURCE_EXHAUSTED the disk has no room for it; UNAVAILABLE.
  virtual absl::StatusOr<ExportedFile> ExportToFile() = 0;
  // Its bytes, for tools and tests with models that fit into memory once more.
  absl::StatusOr<std::string> Export();
  // The wall clock is right: the model's time is not behind it from now on.
  virtual absl::Status ConfirmClock() = 0;
};

// Destroying it stops its threads; pending appends are completed first.
class HostedModel : public ServedModel, public ReportedModel, public AdministeredModel {
 public:
  // Opens `folder` (made when missing), recovers: latest valid checkpoint, then the log after it. A
  // fresh folder gets a new instance id. Limits, exploration, variances, graph weights, feature
  // bound (not where a counter runs here: its noise or its sums are of that bound), default reward,
  // token lifetime, checkpoint policy, free_after, and the reward window (which then opens a new
  // epoch) may change between two runs. A folder of a former version is taken over or refused:
  // Renew. Loads spec.arms_file when the catalogue is empty or the file has changed since it was
  // loaded: its arms are added or replaced. Errors: INVALID_ARGUMENT spec and stored state disagree
  // (dimension, coupling, nodes, mode, mechanism, epsilon, delta, reward range), or a bad arms
  // file; DATA_LOSS corrupt state, naming the log entry or the file; FAILED_PRECONDITION a key that
  // the state was made with is not the one given, or its log is of another engine; UNAVAILABLE I/O.
  static absl::StatusOr<std::unique_ptr<HostedModel>> Open(ModelSpec spec,
                                                           const std::string& folder,
                                                           const Clock& clock,
                                                           const HostedModelOptions& options = {});

  HostedModel* owned() override { return this; }
  std::optional<std::string> owner() const override { return std::nullopt; }
  // Under which this server owns the log, where servers share it; else 0.
  virtual std::int64_t term() const { return 0; }
  // Models made at run time: what the next start, of any server, opens it with. Durable on return.
  // Errors: as StateStore::Write.
  virtual absl::Status StoreConfig(const v1::ModelConfig& config) = 0;
};

}  // namespace bandana::server
