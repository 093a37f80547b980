#include "server/service/owners/peer_service.h"

#include <grpcpp/server_context.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bandana/internal/peer.grpc.pb.h"
#include "common/base/status.h"
#include "server/service/owners/owner_channels.h"
#include "server/service/owners/standing_message.h"
#include "server/service/transport/sync_call.h"

namespace bandana::server {
namespace {

absl::StatusOr<InstanceId> InstanceOf(const std::string& bytes) {
  InstanceId instance{};
  if (bytes.size() != instance.size()) {
    return InvalidArgument("instance: must have ", instance.size(), " bytes");
  }
  std::memcpy(instance.data(), bytes.data(), instance.size());
  return instance;
}

absl::Status RecordOne(SelectingModel& model, TokenCodec& tokens,
                       const internal::RecordedDecision& decision) {
  if (decision.slot_tokens().empty()) return InvalidArgument("slot_tokens: at least one");
  std::vector<Decision> slots;
  for (const std::string& token : decision.slot_tokens()) {
    BANDANA_ASSIGN_OR_RETURN(AskedDecision slot, tokens.Open(token));
    if (slot.instance != model.instance()) {
      return FailedPrecondition("slot_tokens: of another instance of the model");
    }
    slots.push_back(std::move(slot));
  }
  return model.RecordSlots(slots);
}

}  // namespace

class PeerService::Impl final : public internal::Peer::Service {
 public:
  Impl(const ModelDirectory& registry, TokenCodec& tokens, Options options)
      : registry_(registry), tokens_(tokens), options_(std::move(options)), desk_(options_.calls) {}

  grpc::Status Record(grpc::ServerContext* context, const internal::RecordRequest* request,
                      internal::RecordResponse*) override {
    return Serve(*context, "Record", [&](SyncCall&) { return Take(*request); });
  }
  grpc::Status Forget(grpc::ServerContext* context, const internal::ForgetRequest* request,
                      internal::ForgetResponse*) override {
    return Serve(*context, "Forget", [&](SyncCall&) { return Drop(*request); });
  }
  grpc::Status Part(grpc::ServerContext* context, const internal::PartRequest* request,
                    internal::PartResponse* response) override {
    return Serve(*context, "Part", [&](SyncCall&) { return AnswerPart(*request, *response); });
  }
  grpc::Status Stand(grpc::ServerContext* context, const internal::StandRequest* request,
                     internal::StandResponse* response) override {
    return Serve(*context, "Stand", [&](SyncCall&) { return Tell(*request, *response); });
  }

 private:
  template <typename Function>
  grpc::Status Serve(grpc::ServerContext& context, std::string_view method, Function function) {
    const Rpc& rpc = RpcNamed(absl::StrCat("bandana.internal.Peer/", ToAbsl(method)));
    return ServeSync(desk_, context, rpc, std::move(function));
  }

  absl::Status Take(const internal::RecordRequest& request) {
    const std::shared_ptr<ServedModel> model = registry_.Find(request.model());
    if (model == nullptr) return AbsenceOf(registry_, request.model());
    // A follower would hand them on, perhaps in a circle.
    if (model->owned() == nullptr) return OwnerAway();
    for (const internal::RecordedDecision& decision : request.decisions()) {
      BANDANA_RETURN_IF_ERROR(RecordOne(*model, tokens_, decision));
    }
    return absl::OkStatus();
  }

  absl::Status Drop(const internal::ForgetRequest& request) {
    BANDANA_ASSIGN_OR_RETURN(const InstanceId instance, InstanceOf(request.instance()));
    const std::vector<std::string> users(request.users().begin(), request.users().end());
    return options_.forget(instance, users);
  }

  absl::Status AnswerPart(const internal::PartRequest& request, internal::PartResponse& response) {
    PartQuestion question{
        .model = request.model(), .sequence = request.sequence(), .user = request.user()};
    BANDANA_ASSIGN_OR_RETURN(question.instance, InstanceOf(request.instance()));
    const std::shared_ptr<ServedModel> model = registry_.Find(request.model());
    if (model == nullptr) return AbsenceOf(registry_, request.model());
    BANDANA_ASSIGN_OR_RETURN(PartAnswer answer, model->AnswerPart(question));
    response.set_server(std::move(answer.server));
    response.set_erased(answer.erased);
    for (std::string& line : answer.lines) response.add_lines(std::move(line));
    return absl::OkStatus();
  }

  absl::Status Tell(const internal::StandRequest& request, internal::StandResponse& response) {
    if (!request.instance().empty()) {
      BANDANA_ASSIGN_OR_RETURN(const InstanceId instance, InstanceOf(request.instance()));
      BANDANA_ASSIGN_OR_RETURN(const Standing standing, registry_.Stand(request.model(), instance));
      response = ToProto(standing);
    }
    const std::int64_t now = absl::ToUnixNanos(options_.clock->Now());
    response.mutable_clock()->set_seconds(now / 1'000'000'000);
    response.mutable_clock()->set_nanos(static_cast<std::int32_t>(now % 1'000'000'000));
    return absl::OkStatus();
  }

  const ModelDirectory& registry_;
  TokenCodec& tokens_;
  const Options options_;
  CallDesk desk_;
};

PeerService::PeerService(const ModelDirectory& registry, TokenCodec& tokens, Options options)
    : impl_(std::make_unique<Impl>(registry, tokens, std::move(options))) {}
PeerService::~PeerService() = default;
grpc::Service* PeerService::service() { return impl_.get(); }

}  // namespace bandana::server
