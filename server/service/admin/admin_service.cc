#include "server/service/admin/admin_service.h"

#include <grpcpp/support/status.h>
#include <grpcpp/support/sync_stream.h>

#include <algorithm>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "bandana/internal/peer.pb.h"
#include "bandana/v1/admin.grpc.pb.h"
#include "bandana/v1/recommender.pb.h"
#include "common/base/status.h"
#include "common/design/alias.h"
#include "common/design/coupling_message.h"
#include "common/design/planner/served_config.h"
#include "common/design/user_nodes.h"
#include "common/design/wire_messages.h"
#include "common/promise/field_checks.h"
#include "server/service/admin/admin_streams.h"
#include "server/service/admin/config_update.h"
#include "server/service/admin/owner_calls.h"
#include "server/service/admin/stream_guard.h"
#include "server/service/transport/sync_call.h"

namespace bandana::server {
namespace {

template <typename T>
absl::Status Assign(absl::StatusOr<T> result, T& out) {
  BANDANA_ASSIGN_OR_RETURN(out, std::move(result));
  return absl::OkStatus();
}

CallDeskOptions WithLimits(CallDeskOptions calls) {
  calls.calls_max = std::min(calls.calls_max, kAdminCallsMax);
  calls.full_message = "the server is busy with calls that come first";
  calls.full_pause = absl::Milliseconds(250);
  return calls;
}

template <typename Request>
const std::string& NameIn(const Request& request) {
  return request.model();
}
const std::string& NameIn(const v1::UpdateModelRequest& request) { return request.config().name(); }

v1::ModelDescription Describe(const ServedModel& model) {
  v1::ModelDescription description;
  const v1::GetStatsResponse stats = model.Stats();
  *description.mutable_model() = ToProto(model.spec().public_spec);
  description.mutable_model()->set_posterior_version(stats.posterior_version());
  description.mutable_model()->set_epoch(model.epoch());
  v1::ModelConfig& config = *description.mutable_config() = model.spec().config;
  // Graphs and maps of users are large, and who is in them is nobody's business here.
  RedactUsers(config);
  description.set_nodes(stats.nodes());
  description.set_arms(stats.arms());
  description.set_instance_id(ToHex(model.instance()));
  description.set_epoch(model.epoch());
  return description;
}

}  // namespace

class AdminService::Impl final : public v1::Admin::Service {
 public:
  Impl(ModelAdministration& registry, AdminOptions options)
      : registry_(registry),
        options_(std::move(options)),
        desk_(WithLimits(options_.calls)),
        owners_(options_.owners, options_.stream_life_max),
        streams_(
            {.streams_max = options_.streams_max, .stream_life_max = options_.stream_life_max}) {}

  grpc::Status CreateModel(grpc::ServerContext* context, const v1::CreateModelRequest* request,
                           v1::ModelDescription* response) override {
    return Serve(*context, "CreateModel", [&](Call& call) -> absl::Status {
      BANDANA_RETURN_IF_ERROR(call.AllowModel(request->config().name()));  // for the call's line
      return Create(request->config(), *response);
    });
  }
  grpc::Status UpdateModel(grpc::ServerContext* context, const v1::UpdateModelRequest* request,
                           v1::ModelDescription* response) override {
    return ServeNamed(*context, "UpdateModel", &AdminStub::UpdateModel, *request, *response,
                      [&] { return Update(*request, *response); });
  }
  grpc::Status DeleteModel(grpc::ServerContext* context, const v1::DeleteModelRequest* request,
                           v1::DeleteModelResponse* response) override {
    return ServeNamed(*context, "DeleteModel", &AdminStub::DeleteModel, *request, *response, [&] {
      BANDANA_RETURN_IF_ERROR(registry_.Delete(request->model()));
      options_.on_models_changed();
      return absl::OkStatus();
    });
  }
  grpc::Status ListModels(grpc::ServerContext* context, const v1::ListModelsRequest*,
                          v1::ListModelsResponse* response) override {
    return Serve(*context, "ListModels", [&](Call&) {
      for (const auto& model : registry_.List()) *response->add_models() = Describe(*model);
      return absl::OkStatus();
    });
  }
  grpc::Status RemoveArms(grpc::ServerContext* context, const v1::RemoveArmsRequest* request,
                          v1::RemoveArmsResponse* response) override {
    return ServeModel(*context, "RemoveArms", &AdminStub::RemoveArms, *request, *response,
                      [&](HostedModel& model) {
                        const std::vector<std::uint32_t> ids(request->ids().begin(),
                                                             request->ids().end());
                        return Assign(model.RemoveArms(ids), *response);
                      });
  }
  grpc::Status DeleteUsers(grpc::ServerContext* context, const v1::DeleteUsersRequest* request,
                           v1::DeleteUsersResponse* response) override {
    return Serve(*context, "DeleteUsers", [&](Call& call) -> absl::Status {
      const std::vector<std::string> ids(request->ids().begin(), request->ids().end());
      const absl::Status deleted =
          Answer(call, *context, &AdminStub::DeleteUsers, *request, *response, [&] {
            return WithModel(request->model(), [&](HostedModel& model) {
              return Assign(model.DeleteUsers(ids), *response);
            });
          });
      // After the model: what it refuses changes nothing, and no answer that is given meanwhile
      // stays. A model that knows nothing of single users has answers to them all the same.
      if (!deleted.ok() && !KnowsNobody(request->model(), deleted)) return deleted;
      BANDANA_RETURN_IF_ERROR(Forget(request->model(), ids));
      BANDANA_RETURN_IF_ERROR(HaveForgotten(request->model(), ids));
      return deleted;
    });
  }
  grpc::Status ListUsers(grpc::ServerContext* context, const v1::ListUsersRequest* request,
                         v1::ListUsersResponse* response) override {
    return ServeModel(
        *context, "ListUsers", &AdminStub::ListUsers, *request, *response, [&](HostedModel& model) {
          return Assign(model.ListUsers(request->after(), request->limit()), *response);
        });
  }
  grpc::Status ExportUser(grpc::ServerContext* context, const v1::ExportUserRequest* request,
                          v1::ExportUserResponse* response) override {
    return ServeModel(*context, "ExportUser", &AdminStub::ExportUser, *request, *response,
                      [&](HostedModel& model) {
                        absl::Status known = Assign(model.ExportUser(request->id()), *response);
                        if (!known.ok() && !absl::IsNotFound(known)) return known;
                        AddAnswers(*request, *response);
                        if (!known.ok() && response->entries_size() == 0) return known;
                        response->mutable_user()->set_id(request->id());
                        return absl::OkStatus();
                      });
  }
  grpc::Status PutGraph(grpc::ServerContext* context, const v1::PutGraphRequest* request,
                        v1::PutGraphResponse* response) override {
    return ServeModel(*context, "PutGraph", &AdminStub::PutGraph, *request, *response,
                      [&](HostedModel& model) {
                        BANDANA_RETURN_IF_ERROR(model.PutGraph(request->graph()));
                        response->set_nodes(model.Stats().nodes());
                        return absl::OkStatus();
                      });
  }
  grpc::Status GetLedger(grpc::ServerContext* context, const v1::GetLedgerRequest* request,
                         v1::GetLedgerResponse* response) override {
    return ServeModel(*context, "GetLedger", &AdminStub::GetLedger, *request, *response,
                      [&](ServedModel& model) {
                        *response = model.Ledger();
                        return absl::OkStatus();
                      });
  }
  grpc::Status Checkpoint(grpc::ServerContext* context, const v1::CheckpointRequest* request,
                          v1::CheckpointResponse* response) override {
    return ServeModel(*context, "Checkpoint", &AdminStub::Checkpoint, *request, *response,
                      [&](HostedModel& model) { return Assign(model.Checkpoint(), *response); });
  }
  grpc::Status ConfirmClock(grpc::ServerContext* context, const v1::ConfirmClockRequest* request,
                            v1::ConfirmClockResponse* response) override {
    return ServeModel(*context, "ConfirmClock", &AdminStub::ConfirmClock, *request, *response,
                      [](HostedModel& model) { return model.ConfirmClock(); });
  }
  grpc::Status OpenEpoch(grpc::ServerContext* context, const v1::OpenEpochRequest* request,
                         v1::OpenEpochResponse* response) override {
    const auto open = [&]() -> absl::Status {
      BANDANA_ASSIGN_OR_RETURN(const std::uint64_t epoch, registry_.OpenEpoch(request->model()));
      options_.on_models_changed();
      response->set_epoch(epoch);
      return absl::OkStatus();
    };
    return ServeNamed(*context, "OpenEpoch", &AdminStub::OpenEpoch, *request, *response, open,
                      Unowned::kHere);
  }
  grpc::Status GetStats(grpc::ServerContext* context, const v1::GetStatsRequest* request,
                        v1::GetStatsResponse* response) override {
    const auto stats = [&](ServedModel& model) {
      *response = model.Stats();
      return absl::OkStatus();
    };
    if (request->here()) {
      return Serve(*context, "GetStats", [&](Call& call) -> absl::Status {
        BANDANA_RETURN_IF_ERROR(call.AllowModel(request->model()));
        return WithModel(request->model(), stats);
      });
    }
    return ServeModel(*context, "GetStats", &AdminStub::GetStats, *request, *response, stats,
                      Unowned::kHere);
  }

  grpc::Status PutArms(grpc::ServerContext* context, grpc::ServerReader<v1::PutArmsRequest>* reader,
                       v1::PutArmsResponse* response) override {
    return ServePut(*context, "PutArms", &AdminStub::PutArms, ReadArms, *reader, *response);
  }
  grpc::Status PutUsers(grpc::ServerContext* context,
                        grpc::ServerReader<v1::PutUsersRequest>* reader,
                        v1::PutUsersResponse* response) override {
    return ServePut(*context, "PutUsers", &AdminStub::PutUsers, ReadUsers, *reader, *response);
  }
  grpc::Status ListArms(grpc::ServerContext* context, const v1::ListArmsRequest* request,
                        grpc::ServerWriter<v1::Arm>* writer) override {
    return ServeStream(*context, "ListArms", [&](Call& call, StreamGuard::Lease&) -> absl::Status {
      BANDANA_RETURN_IF_ERROR(call.AllowModel(request->model()));
      return WithModel(request->model(),
                       [&](ServedModel& model) { return WriteArms(*model.catalogue(), *writer); });
    });
  }
  grpc::Status Export(grpc::ServerContext* context, const v1::ExportRequest* request,
                      grpc::ServerWriter<v1::Chunk>* writer) override {
    return ServeStream(*context, "Export",
                       [&](Call& call, StreamGuard::Lease& lease) -> absl::Status {
                         BANDANA_RETURN_IF_ERROR(call.AllowModel(request->model()));
                         if (const auto owner = OwnerOf(request->model())) {
                           return owners_.Export(*context, *owner, *request, *writer, lease);
                         }
                         std::optional<ExportedFile> exported;
                         // The model is not held while a slow reader takes its bytes.
                         BANDANA_RETURN_IF_ERROR(
                             WithModel(request->model(), [&](HostedModel& model) -> absl::Status {
                               BANDANA_ASSIGN_OR_RETURN(exported, model.ExportToFile());
                               return absl::OkStatus();
                             }));
                         return WriteChunks(*exported, *writer, lease);
                       });
  }
  grpc::Status ExportDecisions(grpc::ServerContext* context,
                               const v1::ExportDecisionsRequest* request,
                               grpc::ServerWriter<v1::DecisionChunk>* writer) override {
    return ServeStream(
        *context, "ExportDecisions", [&](Call& call, StreamGuard::Lease& lease) -> absl::Status {
          BANDANA_RETURN_IF_ERROR(call.AllowModel(request->model()));
          BANDANA_ASSIGN_OR_RETURN(const DecisionRequest asked, ReadDecisionRequest(*request));
          std::optional<LoggedModel::DecisionFiles> files;
          BANDANA_RETURN_IF_ERROR(
              WithModel(request->model(), [&](ServedModel& model) -> absl::Status {
                BANDANA_ASSIGN_OR_RETURN(files, model.ExportDecisions(asked.range));
                return absl::OkStatus();
              }));
          return WriteDecisions(*files, asked, *writer, lease);
        });
  }
  grpc::Status CheckImport(grpc::ServerContext* context, const v1::CheckImportRequest* request,
                           v1::CheckImportResponse*) override {
    return Serve(*context, "CheckImport", [&](Call& call) -> absl::Status {
      BANDANA_RETURN_IF_ERROR(call.AllowModel(request->model()));  // for the call's line
      BANDANA_RETURN_IF_ERROR(CheckName(request->model()));
      return registry_.CheckImport(request->model(), request->header());
    });
  }
  grpc::Status Import(grpc::ServerContext* context, grpc::ServerReader<v1::ImportRequest>* reader,
                      v1::ModelDescription* response) override {
    return ServeStream(*context, "Import", [&](Call& call, StreamGuard::Lease& lease) {
      return ImportFrom(call, *context, *reader, *response, lease);
    });
  }

  grpc::Status PutAlias(grpc::ServerContext* context, const v1::PutAliasRequest* request,
                        v1::Alias* response) override {
    return Serve(*context, "PutAlias", [&](Call& call) -> absl::Status {
      BANDANA_RETURN_IF_ERROR(call.AllowModel(request->alias().name()));  // for the call's line
      std::vector<ConfigError> errors;
      AliasSpec asked = ParseAlias(request->alias(), FieldChecks(errors, "alias."));
      BANDANA_RETURN_IF_ERROR(ToStatus(errors));
      BANDANA_ASSIGN_OR_RETURN(const AliasSpec put, registry_.PutAlias(std::move(asked)));
      options_.on_models_changed();
      *response = ToProto(put);
      return absl::OkStatus();
    });
  }
  grpc::Status DeleteAlias(grpc::ServerContext* context, const v1::DeleteAliasRequest* request,
                           v1::DeleteAliasResponse*) override {
    return Serve(*context, "DeleteAlias", [&](Call& call) {
      BANDANA_RETURN_IF_ERROR(call.AllowModel(request->name()));
      BANDANA_RETURN_IF_ERROR(registry_.DeleteAlias(request->name()));
      options_.on_models_changed();
      return absl::OkStatus();
    });
  }
  grpc::Status ListAliases(grpc::ServerContext* context, const v1::ListAliasesRequest*,
                           v1::ListAliasesResponse* response) override {
    return Serve(*context, "ListAliases", [&](Call&) {
      BANDANA_RETURN_IF_ERROR(registry_.AliasesStatus());
      for (const AliasSpec& alias : registry_.ListAliases()) {
        *response->add_aliases() = ToProto(alias);
      }
      return absl::OkStatus();
    });
  }

 private:
  using Call = SyncCall;

  // Every rpc goes through here.
  template <typename Function>
  grpc::Status Serve(grpc::ServerContext& context, std::string_view method, Function function) {
    const Rpc& rpc = RpcNamed(absl::StrCat("bandana.v1.Admin/", ToAbsl(method)));
    return ServeSync(desk_, context, rpc, std::move(function));
  }
  // Who answers while nobody owns the model.
  enum class Unowned { kNobody, kHere };

  // A call about the model that its request names: the owner answers, or `here`.
  template <typename Request, typename Response, typename Function>
  grpc::Status ServeNamed(grpc::ServerContext& context, std::string_view method,
                          AskUnary<Request, Response> ask, const Request& request,
                          Response& response, Function here, Unowned unowned = Unowned::kNobody) {
    return Serve(context, method, [&](Call& call) {
      return Answer(call, context, ask, request, response, here, unowned);
    });
  }
  template <typename Request, typename Response, typename Function>
  grpc::Status ServeModel(grpc::ServerContext& context, std::string_view method,
                          AskUnary<Request, Response> ask, const Request& request,
                          Response& response, Function here, Unowned unowned = Unowned::kNobody) {
    return ServeNamed(
        context, method, ask, request, response, [&] { return WithModel(NameIn(request), here); },
        unowned);
  }
  template <typename Request, typename Response, typename Function>
  absl::Status Answer(Call& call, grpc::ServerContext& context, AskUnary<Request, Response> ask,
                      const Request& request, Response& response, Function here,
                      Unowned unowned = Unowned::kNobody) {
    BANDANA_RETURN_IF_ERROR(call.AllowModel(NameIn(request)));
    const std::optional<std::string> owner = OwnerOf(NameIn(request));
    if (!owner || (owner->empty() && unowned == Unowned::kHere)) return here();
    return owners_.Ask(context, *owner, ask, request, response);
  }
  template <typename Function>
  grpc::Status ServeStream(grpc::ServerContext& context, std::string_view method,
                           Function function) {
    return Serve(context, method, [&](Call& call) {
      auto lease = streams_.Enter(context);
      return lease.ok() ? function(call, *lease) : lease.status();
    });
  }

  // A stream that puts things into the model that its first message names.
  template <typename Request, typename Response>
  grpc::Status ServePut(grpc::ServerContext& context, std::string_view method,
                        AskPut<Request, Response> ask,
                        absl::Status (*read)(grpc::ServerContext&, Request,
                                             grpc::ServerReader<Request>&, HostedModel&, Response&),
                        grpc::ServerReader<Request>& reader, Response& response) {
    return ServeStream(context, method, [&](Call& call, StreamGuard::Lease&) -> absl::Status {
      Request first;
      if (!reader.Read(&first)) return InvalidArgument(ToAbsl(method), " needs a first message");
      const std::string name = first.model();
      BANDANA_RETURN_IF_ERROR(call.AllowModel(name));
      if (const auto owner = OwnerOf(name)) {
        return owners_.Put(context, *owner, ask, std::move(first), reader, response);
      }
      return WithModel(name, [&](HostedModel& model) {
        return read(context, std::move(first), reader, model, response);
      });
    });
  }

  // Calls `function` with the model: with a HostedModel where this server owns it.
  template <typename Function>
  absl::Status WithModel(const std::string& name, Function function) {
    const std::shared_ptr<ServedModel> model = registry_.Find(name);
    if (model == nullptr) return AbsenceOf(registry_, name);
    if constexpr (std::is_invocable_v<Function&, ServedModel&>) {
      return function(*model);
    } else {
      HostedModel* const owned = model->owned();
      return owned == nullptr ? OwnedElsewhere(*model) : function(*owned);
    }
  }

  // Where the model's owner is; nothing: here, or the model is not served.
  std::optional<std::string> OwnerOf(const std::string& name) const {
    const std::shared_ptr<ServedModel> model = registry_.Find(name);
    return model == nullptr ? std::nullopt : model->owner();
  }

  // Whether the model refused a deletion because it knows nothing of single users.
  bool KnowsNobody(const std::string& name, const absl::Status& refused) const {
    const std::shared_ptr<ServedModel> model = registry_.Find(name);
    return absl::IsFailedPrecondition(refused) && model != nullptr && !model->spec().effects &&
           UserNodesOf(model->spec()).known() == UserNodes::Known::kNobody;
  }

  // Adds what was answered to the user under names on this server.
  void AddAnswers(const v1::ExportUserRequest& request, v1::ExportUserResponse& response) const {
    const std::shared_ptr<ServedModel> model = registry_.Find(request.model());
    if (options_.decision_index == nullptr || model == nullptr) return;
    for (const std::string& kept :
         options_.decision_index->OfUser(model->instance(), request.id())) {
      v1::SelectResponse answer;
      if (!answer.ParseFromString(kept)) continue;
      answer.DiscardUnknownFields();  // what fills it up
      v1::UserEntry& entry = *response.add_entries();
      entry.set_kind("answer");
      entry.set_record(answer.SerializeAsString());
    }
  }

  // Forgets named decisions of this server.
  absl::Status Forget(const std::string& name, const std::vector<std::string>& users) const {
    const std::shared_ptr<ServedModel> model = registry_.Find(name);
    if (options_.decision_index == nullptr || model == nullptr) return absl::OkStatus();
    return options_.decision_index->ForgetUsers(model->instance(), users);
  }

  // Has the other servers of the store do the same. A server that is down keeps what it has,
  // sealed, until it is of no use.
  absl::Status HaveForgotten(const std::string& name, const std::vector<std::string>& users) const {
    const std::shared_ptr<ServedModel> model = registry_.Find(name);
    if (options_.owners == nullptr || model == nullptr) return absl::OkStatus();
    internal::ForgetRequest request;
    request.set_instance(model->instance().data(), model->instance().size());
    *request.mutable_users() = {users.begin(), users.end()};
    for (const std::string& other : registry_.Others()) {
      BANDANA_RETURN_IF_ERROR(options_.owners->Forget(other, request));
    }
    return absl::OkStatus();
  }

  // The configuration of a request, which may name no files.
  absl::StatusOr<ModelSpec> Parse(const v1::ModelConfig& config) const {
    std::vector<ConfigError> errors;
    auto spec = ParseServedModel(config, "", /*allow_files=*/false, errors);
    if (spec && spec->public_spec.token_lifetime > options_.token_lifetime_max) {
      errors.push_back({"token_lifetime",
                        absl::StrCat("must be at most the server's tokens.rotation_interval of ",
                                     absl::FormatDuration(options_.token_lifetime_max))});
    }
    BANDANA_RETURN_IF_ERROR(Annotate(ToStatus(errors), "config"));
    return *std::move(spec);
  }

  absl::Status Create(const v1::ModelConfig& config, v1::ModelDescription& response) {
    BANDANA_ASSIGN_OR_RETURN(ModelSpec spec, Parse(config));
    BANDANA_ASSIGN_OR_RETURN(const auto model, registry_.Create(std::move(spec)));
    options_.on_models_changed();
    response = Describe(*model);
    return absl::OkStatus();
  }

  absl::Status Update(const v1::UpdateModelRequest& request, v1::ModelDescription& response) {
    const std::string& name = request.config().name();
    BANDANA_RETURN_IF_ERROR(registry_.MayUpdate(name));
    const std::shared_ptr<ServedModel> current = registry_.Find(name);
    if (current == nullptr) return AbsenceOf(registry_, name);
    BANDANA_ASSIGN_OR_RETURN(const v1::ModelConfig config,
                             UpdatedConfig(current->spec().config, request));
    BANDANA_ASSIGN_OR_RETURN(ModelSpec spec, Parse(config));
    BANDANA_ASSIGN_OR_RETURN(const auto model, registry_.Update(std::move(spec)));
    options_.on_models_changed();
    response = Describe(*model);
    return absl::OkStatus();
  }

  absl::Status ImportFrom(Call& call, grpc::ServerContext& context,
                          grpc::ServerReader<v1::ImportRequest>& reader,
                          v1::ModelDescription& response, StreamGuard::Lease& lease) {
    BANDANA_ASSIGN_OR_RETURN(const ReceivedExport received,
                             ReadExport(context, reader, registry_, options_.headless_bytes_max,
                                        lease, [&](const std::string& name) {
                                          return call.AllowModel(name);
                                        }));  // for its line
    BANDANA_ASSIGN_OR_RETURN(const MappedFile map, received.file.Map());
    const v1::ExportHeader* const promised = received.header ? &*received.header : nullptr;
    BANDANA_ASSIGN_OR_RETURN(const auto model,
                             registry_.Import(received.name, map.bytes(), promised));
    options_.on_models_changed();
    response = Describe(*model);
    return absl::OkStatus();
  }

  ModelAdministration& registry_;
  const AdminOptions options_;
  CallDesk desk_;
  const OwnerCalls owners_;
  StreamGuard streams_;
};

AdminService::AdminService(ModelAdministration& registry, AdminOptions options)
    : impl_(std::make_unique<Impl>(registry, std::move(options))) {}
AdminService::~AdminService() = default;
grpc::Service* AdminService::service() { return impl_.get(); }

}  // namespace bandana::server
