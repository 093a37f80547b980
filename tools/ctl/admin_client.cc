#include "tools/ctl/admin_client.h"

#include <grpcpp/client_context.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bandana/v1/admin.grpc.pb.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "grpc/health/v1/health.grpc.pb.h"

namespace bandana {
namespace {

// A call of any size cannot have one deadline: it is cancelled when nothing has moved for
// `longest`. Threads: Moved and stalled are safe.
class StallWatch {
 public:
  // `context` must outlive it.
  StallWatch(grpc::ClientContext& context, absl::Duration longest);
  ~StallWatch();
  StallWatch(const StallWatch&) = delete;
  StallWatch& operator=(const StallWatch&) = delete;

  void Moved();
  // Whether it has cancelled the call.
  bool stalled() const;

 private:
  void Watch();

  grpc::ClientContext& context_;
  const absl::Duration longest_;
  mutable std::mutex mutex_;  // guards what follows, but the thread
  std::condition_variable changed_;
  absl::Time moved_;
  bool stalled_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

StallWatch::StallWatch(grpc::ClientContext& context, absl::Duration longest)
    : context_(context), longest_(longest), moved_(SteadyNow()), thread_([this] { Watch(); }) {}

StallWatch::~StallWatch() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void StallWatch::Moved() {
  const std::lock_guard lock(mutex_);
  moved_ = SteadyNow();
}

bool StallWatch::stalled() const {
  const std::lock_guard lock(mutex_);
  return stalled_;
}

void StallWatch::Watch() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const absl::Duration left = moved_ + longest_ - SteadyNow();
    if (left <= absl::ZeroDuration()) {
      stalled_ = true;
      context_.TryCancel();
      return;
    }
    changed_.wait_for(lock, absl::ToChronoNanoseconds(left));
  }
}

constexpr std::size_t kMessageBytes = 1 << 20;
constexpr int kReceiveBytesMax = 64 << 20;
constexpr absl::Duration kHealthTime = absl::Seconds(2);

absl::Status FromGrpc(const grpc::Status& status) {
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

class GrpcAdminClient final : public AdminClient {
 public:
  GrpcAdminClient(Connection connection, absl::Duration timeout)
      : connection_(std::move(connection)),
        stub_(v1::Admin::NewStub(connection_.channel())),
        timeout_(timeout) {}

  absl::StatusOr<v1::ListModelsResponse> ListModels() override {
    return Call(&v1::Admin::Stub::ListModels, v1::ListModelsRequest());
  }
  absl::StatusOr<v1::ModelDescription> CreateModel(const v1::ModelConfig& config) override {
    v1::CreateModelRequest request;
    *request.mutable_config() = config;
    return Call(&v1::Admin::Stub::CreateModel, request);
  }
  absl::StatusOr<v1::ModelDescription> UpdateModel(const v1::UpdateModelRequest& request) override {
    return Call(&v1::Admin::Stub::UpdateModel, request);
  }
  absl::Status DeleteModel(const std::string& model) override {
    return Call(&v1::Admin::Stub::DeleteModel, Of<v1::DeleteModelRequest>(model)).status();
  }
  absl::StatusOr<v1::Alias> PutAlias(const v1::Alias& alias) override {
    v1::PutAliasRequest request;
    *request.mutable_alias() = alias;
    return Call(&v1::Admin::Stub::PutAlias, request);
  }
  absl::Status DeleteAlias(const std::string& name) override {
    v1::DeleteAliasRequest request;
    request.set_name(name);
    return Call(&v1::Admin::Stub::DeleteAlias, request).status();
  }
  absl::StatusOr<v1::ListAliasesResponse> ListAliases() override {
    return Call(&v1::Admin::Stub::ListAliases, v1::ListAliasesRequest());
  }
  absl::StatusOr<v1::RemoveArmsResponse> RemoveArms(
      const std::string& model, const std::vector<std::uint32_t>& ids) override {
    auto request = Of<v1::RemoveArmsRequest>(model);
    request.mutable_ids()->Assign(ids.begin(), ids.end());
    return Call(&v1::Admin::Stub::RemoveArms, request);
  }
  absl::StatusOr<v1::DeleteUsersResponse> DeleteUsers(
      const std::string& model, const std::vector<std::string>& ids) override {
    auto request = Of<v1::DeleteUsersRequest>(model);
    request.mutable_ids()->Assign(ids.begin(), ids.end());
    return Call(&v1::Admin::Stub::DeleteUsers, request);
  }
  absl::StatusOr<v1::ListUsersResponse> ListUsers(const v1::ListUsersRequest& request) override {
    return Call(&v1::Admin::Stub::ListUsers, request);
  }
  absl::StatusOr<v1::ExportUserResponse> ExportUser(const std::string& model,
                                                    const std::string& id) override {
    auto request = Of<v1::ExportUserRequest>(model);
    request.set_id(id);
    return Call(&v1::Admin::Stub::ExportUser, request);
  }
  absl::StatusOr<v1::PutGraphResponse> PutGraph(const std::string& model,
                                                const v1::Graph& graph) override {
    auto request = Of<v1::PutGraphRequest>(model);
    *request.mutable_graph() = graph;
    return Call(&v1::Admin::Stub::PutGraph, request);
  }
  absl::StatusOr<v1::GetLedgerResponse> GetLedger(const std::string& model) override {
    return Call(&v1::Admin::Stub::GetLedger, Of<v1::GetLedgerRequest>(model));
  }
  absl::StatusOr<v1::CheckpointResponse> Checkpoint(const std::string& model) override {
    return Call(&v1::Admin::Stub::Checkpoint, Of<v1::CheckpointRequest>(model));
  }
  absl::StatusOr<v1::OpenEpochResponse> OpenEpoch(const std::string& model) override {
    return Call(&v1::Admin::Stub::OpenEpoch, Of<v1::OpenEpochRequest>(model));
  }
  absl::StatusOr<v1::ConfirmClockResponse> ConfirmClock(const std::string& model) override {
    return Call(&v1::Admin::Stub::ConfirmClock, Of<v1::ConfirmClockRequest>(model));
  }
  absl::StatusOr<v1::GetStatsResponse> GetStats(const std::string& model) override {
    return Call(&v1::Admin::Stub::GetStats, Of<v1::GetStatsRequest>(model));
  }
  absl::StatusOr<v1::GetStatsResponse> GetStatsHere(const std::string& model) override {
    auto request = Of<v1::GetStatsRequest>(model);
    request.set_here(true);
    return Call(&v1::Admin::Stub::GetStats, request);
  }
  absl::StatusOr<std::string> Health(const std::string& model) override {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + std::min(timeout_, kHealthTime)));
    connection_.Authorize(context);
    grpc::health::v1::HealthCheckRequest request;
    request.set_service(model);
    grpc::health::v1::HealthCheckResponse response;
    const auto stub = grpc::health::v1::Health::NewStub(connection_.channel());
    const grpc::Status status = stub->Check(&context, request, &response);
    using Answer = grpc::health::v1::HealthCheckResponse;
    return ResultOf(status, Answer::ServingStatus_Name(response.status()));
  }

  absl::StatusOr<v1::PutArmsResponse> PutArms(const std::string& model,
                                              const std::vector<v1::Arm>& arms) override {
    grpc::ClientContext context;
    Prepare(context);
    v1::PutArmsResponse response;
    const auto writer = stub_->PutArms(&context, &response);
    auto arm = arms.begin();
    const grpc::Status status = WriteAll(Of<v1::PutArmsRequest>(model), *writer,
                                         [&](v1::PutArmsRequest& message) -> const v1::Arm* {
                                           if (arm == arms.end()) return nullptr;
                                           *message.add_arms() = *arm;
                                           return &*arm++;
                                         });
    return ResultOf(status, std::move(response));
  }

  absl::StatusOr<v1::PutUsersResponse> PutUsers(
      const std::string& model, const std::function<bool(v1::User&)>& next) override {
    grpc::ClientContext context;
    Prepare(context);
    v1::PutUsersResponse response;
    const auto writer = stub_->PutUsers(&context, &response);
    v1::User user;
    const grpc::Status status = WriteAll(Of<v1::PutUsersRequest>(model), *writer,
                                         [&](v1::PutUsersRequest& message) -> const v1::User* {
                                           user.Clear();
                                           if (!next(user)) return nullptr;
                                           *message.add_users() = user;
                                           return &user;
                                         });
    return ResultOf(status, std::move(response));
  }

  absl::Status ListArms(const std::string& model,
                        const std::function<void(const v1::Arm&)>& each) override {
    grpc::ClientContext context;
    Prepare(context);
    // Read as bytes: a reader of messages takes one that it cannot parse for the end.
    const grpc::internal::RpcMethod method("/bandana.v1.Admin/ListArms",
                                           grpc::internal::RpcMethod::SERVER_STREAMING,
                                           connection_.channel());
    const std::unique_ptr<grpc::ClientReader<grpc::ByteBuffer>> reader(
        grpc::internal::ClientReaderFactory<grpc::ByteBuffer>::Create(
            connection_.channel().get(), method, &context, Of<v1::ListArmsRequest>(model)));
    absl::Status read;
    std::uint64_t count = 0;
    for (grpc::ByteBuffer bytes; read.ok() && reader->Read(&bytes); ++count) {
      v1::Arm arm;
      if (grpc::SerializationTraits<v1::Arm>::Deserialize(&bytes, &arm).ok()) {
        each(arm);
        continue;
      }
      read = DataLoss("arm ", count + 1,
                      " of the answer cannot be read: it holds text that is no "
                      "UTF-8, or is of another version");
      context.TryCancel();
    }
    const grpc::Status ended = reader->Finish();
    return read.ok() ? FromGrpc(ended) : read;
  }

  absl::StatusOr<std::optional<v1::ExportHeader>> Export(const std::string& model,
                                                         const ByteSink& take) override {
    grpc::ClientContext context;
    connection_.Authorize(context);
    StallWatch watch(context, timeout_);
    const auto reader = stub_->Export(&context, Of<v1::ExportRequest>(model));
    std::optional<v1::ExportHeader> header;
    absl::Status taken;
    for (v1::Chunk chunk; reader->Read(&chunk);) {
      watch.Moved();
      if (chunk.has_header()) header = std::move(*chunk.mutable_header());
      if (taken.ok() && !chunk.data().empty()) taken = take(chunk.data());
      if (!taken.ok()) context.TryCancel();
      chunk.Clear();
    }
    const absl::Status ended = StatusOf(reader->Finish(), watch);
    BANDANA_RETURN_IF_ERROR(taken);
    BANDANA_RETURN_IF_ERROR(ended);
    return header;
  }

  absl::Status ExportDecisions(
      const v1::ExportDecisionsRequest& request,
      const std::function<absl::Status(const v1::DecisionChunk&)>& take) override {
    grpc::ClientContext context;
    connection_.Authorize(context);
    StallWatch watch(context, timeout_);
    const auto reader = stub_->ExportDecisions(&context, request);
    absl::Status taken;
    for (v1::DecisionChunk chunk; reader->Read(&chunk);) {
      watch.Moved();
      if (taken.ok()) taken = take(chunk);
      if (!taken.ok()) context.TryCancel();
      chunk.Clear();
    }
    const absl::Status ended = StatusOf(reader->Finish(), watch);
    return taken.ok() ? ended : taken;
  }

  absl::Status CheckImport(const std::string& model, const v1::ExportHeader& header) override {
    auto request = Of<v1::CheckImportRequest>(model);
    *request.mutable_header() = header;
    return Call(&v1::Admin::Stub::CheckImport, request).status();
  }

  absl::StatusOr<v1::ModelDescription> Import(const std::string& model, std::string_view exported,
                                              const v1::ExportHeader* header) override {
    grpc::ClientContext context;
    connection_.Authorize(context);
    StallWatch watch(context, timeout_);
    v1::ModelDescription response;
    const auto writer = stub_->Import(&context, &response);
    auto message = Of<v1::ImportRequest>(model);
    if (header != nullptr) *message.mutable_chunk()->mutable_header() = *header;
    bool open = header == nullptr || writer->Write(message);
    if (header != nullptr) message.Clear();
    do {
      message.mutable_chunk()->set_data(std::string(exported.substr(0, kMessageBytes)));
      exported.remove_prefix(std::min(exported.size(), kMessageBytes));
      open = open && writer->Write(message);
      watch.Moved();
    } while (open && !exported.empty());
    writer->WritesDone();
    const absl::Status ended = StatusOf(writer->Finish(), watch);  // fills the response
    BANDANA_RETURN_IF_ERROR(ended);
    return response;
  }

 private:
  template <typename Request>
  static Request Of(const std::string& model) {
    Request request;
    request.set_model(model);
    return request;
  }

  // Messages of about kMessageBytes, of which the first has the model. `add` puts one thing more
  // into a message and points to it; null: there is none. Fills the response.
  template <typename Request, typename Add>
  static grpc::Status WriteAll(Request message, grpc::ClientWriter<Request>& writer, Add add) {
    bool open = true;
    std::size_t bytes = 0;
    while (const auto* const added = open ? add(message) : nullptr) {
      bytes += added->ByteSizeLong();
      if (bytes < kMessageBytes) continue;
      open = writer.Write(message);
      message.Clear();
      bytes = 0;
    }
    message.set_last(true);
    if (open) writer.Write(message);
    writer.WritesDone();
    return writer.Finish();
  }

  absl::Status StatusOf(const grpc::Status& status, const StallWatch& watch) const {
    if (status.ok() || !watch.stalled()) return FromGrpc(status);
    return absl::DeadlineExceededError(
        absl::StrCat("nothing moved for ", absl::FormatDuration(timeout_)));
  }

  template <typename T>
  static absl::StatusOr<T> ResultOf(const grpc::Status& status, T value) {
    if (!status.ok()) return FromGrpc(status);
    return value;
  }

  template <typename Request, typename Response>
  absl::StatusOr<Response> Call(grpc::Status (v1::Admin::Stub::*method)(grpc::ClientContext*,
                                                                        const Request&, Response*),
                                const Request& request) {
    grpc::ClientContext context;
    Prepare(context);
    Response response;
    const grpc::Status status = (stub_.get()->*method)(&context, request, &response);
    return ResultOf(status, std::move(response));
  }

  void Prepare(grpc::ClientContext& context) const {
    context.set_deadline(absl::ToChronoTime(absl::Now() + timeout_));
    connection_.Authorize(context);
  }

  const Connection connection_;
  const std::unique_ptr<v1::Admin::Stub> stub_;
  const absl::Duration timeout_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<AdminClient>> AdminClient::Connect(const std::string& target,
                                                                  absl::Duration timeout,
                                                                  const ChannelSecurity& security) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kReceiveBytesMax);
  BANDANA_ASSIGN_OR_RETURN(Connection connection, Connection::Open(target, security, arguments));
  return std::make_unique<GrpcAdminClient>(std::move(connection), timeout);
}

}  // namespace bandana
