// bandana.v1.Admin and grpc.health.v1 as blocking functions, with deadlines and absl::Status.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bandana/v1/admin.pb.h"
#include "common/base/byte_sink.h"
#include "common/channel/channel.h"

namespace bandana {

// Errors everywhere: the server's status; UNAVAILABLE when it cannot be reached.
class AdminClient {
 public:
  // `target` is host:port. Calls take at most `timeout` each. Errors: as Connection::Open.
  static absl::StatusOr<std::unique_ptr<AdminClient>> Connect(const std::string& target,
                                                              absl::Duration timeout,
                                                              const ChannelSecurity& security = {});
  virtual ~AdminClient() = default;

  virtual absl::StatusOr<v1::ListModelsResponse> ListModels() = 0;
  virtual absl::StatusOr<v1::ModelDescription> CreateModel(const v1::ModelConfig& config) = 0;
  virtual absl::StatusOr<v1::ModelDescription> UpdateModel(
      const v1::UpdateModelRequest& request) = 0;
  virtual absl::Status DeleteModel(const std::string& model) = 0;
  virtual absl::StatusOr<v1::Alias> PutAlias(const v1::Alias& alias) = 0;
  virtual absl::Status DeleteAlias(const std::string& name) = 0;
  virtual absl::StatusOr<v1::ListAliasesResponse> ListAliases() = 0;
  // Sent in messages of about 1 MiB; they take effect together.
  virtual absl::StatusOr<v1::PutArmsResponse> PutArms(const std::string& model,
                                                      const std::vector<v1::Arm>& arms) = 0;
  virtual absl::StatusOr<v1::RemoveArmsResponse> RemoveArms(
      const std::string& model, const std::vector<std::uint32_t>& ids) = 0;
  virtual absl::Status ListArms(const std::string& model,
                                const std::function<void(const v1::Arm&)>& each) = 0;
  // As PutArms. `next` fills in one user after another; false: there are no more.
  virtual absl::StatusOr<v1::PutUsersResponse> PutUsers(
      const std::string& model, const std::function<bool(v1::User&)>& next) = 0;
  // 1 to 1000 ids.
  virtual absl::StatusOr<v1::DeleteUsersResponse> DeleteUsers(
      const std::string& model, const std::vector<std::string>& ids) = 0;
  // A page: see ListUsersRequest.
  virtual absl::StatusOr<v1::ListUsersResponse> ListUsers(const v1::ListUsersRequest& request) = 0;
  virtual absl::StatusOr<v1::ExportUserResponse> ExportUser(const std::string& model,
                                                            const std::string& id) = 0;
  virtual absl::StatusOr<v1::PutGraphResponse> PutGraph(const std::string& model,
                                                        const v1::Graph& graph) = 0;
  virtual absl::StatusOr<v1::GetLedgerResponse> GetLedger(const std::string& model) = 0;
  virtual absl::StatusOr<v1::CheckpointResponse> Checkpoint(const std::string& model) = 0;
  // Gives the export to `take`, piece after piece. Returns its header; nullopt: a former server,
  // which sends none. `timeout` is the longest time without a piece. Errors: those of `take`.
  virtual absl::StatusOr<std::optional<v1::ExportHeader>> Export(const std::string& model,
                                                                 const ByteSink& take) = 0;
  // Gives each piece of each file to `take`; the model's time is in the first one. Errors: those of
  // `take`.
  virtual absl::Status ExportDecisions(
      const v1::ExportDecisionsRequest& request,
      const std::function<absl::Status(const v1::DecisionChunk&)>& take) = 0;
  // Whether Import would take it. UNIMPLEMENTED: a former server, which cannot say.
  virtual absl::Status CheckImport(const std::string& model, const v1::ExportHeader& header) = 0;
  // `header` may be null. `timeout` as in Export, and the longest time for the answer after the
  // last piece.
  virtual absl::StatusOr<v1::ModelDescription> Import(const std::string& model,
                                                      std::string_view exported,
                                                      const v1::ExportHeader* header) = 0;
  virtual absl::StatusOr<v1::OpenEpochResponse> OpenEpoch(const std::string& model) = 0;
  virtual absl::StatusOr<v1::ConfirmClockResponse> ConfirmClock(const std::string& model) = 0;
  virtual absl::StatusOr<v1::GetStatsResponse> GetStats(const std::string& model) = 0;
  // Those of this server, although another one owns the model.
  virtual absl::StatusOr<v1::GetStatsResponse> GetStatsHere(const std::string& model) = 0;
  // The state of the model by grpc.health.v1; "": of the whole server. In at most 2 s: who asks for
  // health has to know soon. Errors: NOT_FOUND no such model.
  virtual absl::StatusOr<std::string> Health(const std::string& model) = 0;
};

}  // namespace bandana
