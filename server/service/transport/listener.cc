#include "server/service/transport/listener.h"

#include <grpcpp/resource_quota.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/support/channel_arguments.h>

#include <utility>

#include "absl/time/time.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "server/service/transport/channel_time.h"

namespace bandana::server {
namespace {

constexpr int kReadBytesMax = 64 * 1024;

}  // namespace

gpr_timespec After(absl::Duration patience) {
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                      gpr_time_from_nanos(absl::ToInt64Nanoseconds(patience), GPR_TIMESPAN));
}

void SetListenerLimits(grpc::ServerBuilder& builder, const ConnectionLimits& limits,
                       int receive_bytes_max) {
  grpc::ResourceQuota quota("connections");
  builder.SetResourceQuota(quota.Resize(kTransportBytesMax));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kStreamsPerConnectionMax);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, Millis(absl::Seconds(10)));
  if (limits.grpc_idle != absl::InfiniteDuration()) {
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, Millis(limits.grpc_idle));
  }
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS, Millis(absl::Minutes(30)));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS, Millis(absl::Seconds(30)));
  // Bytes that are read at once are parsed at once, before any call among them is looked at.
  builder.AddChannelArgument(GRPC_ARG_TCP_MAX_READ_CHUNK_SIZE, kReadBytesMax);
  // Clients may ping also between calls; we ask after silent ones each minute.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             Millis(limits.keepalive_interval_min));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, Millis(absl::Minutes(1)));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, Millis(absl::Seconds(20)));
  // Server-wide, so it must let Admin's messages pass; calls on the queues check
  // kHotMessageBytesMax themselves.
  builder.SetMaxReceiveMessageSize(receive_bytes_max);
  // Admin and reflection are rare: one queue with one waiting thread is enough, and disturbs the
  // hot queues least.
  builder.SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MIN_POLLERS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MAX_POLLERS, 2);
}

grpc::ChannelArguments InProcessLimits(int message_bytes_max) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);  // answers are as large as they are
  arguments.SetMaxSendMessageSize(message_bytes_max);
  return arguments;
}

Listener::Listener() = default;
Listener::~Listener() { Stop(); }

absl::Status Listener::Open(const std::string& listen,
                            const std::shared_ptr<grpc::ServerCredentials>& credentials,
                            const ConnectionLimits& limits, grpc::ServerBuilder& builder) {
  const auto known = credentials ? credentials : grpc::InsecureServerCredentials();
  if (listen.starts_with("unix:")) {
    address_ = listen;
    builder.AddListeningPort(listen, known);
    return absl::OkStatus();
  }
  if (acceptor_ == nullptr) {
    ConnectionLimits mine = limits;
    mine.handshakes = credentials != nullptr;
    BANDANA_ASSIGN_OR_RETURN(acceptor_, Acceptor::Bind(listen, mine));
  }
  tls_ = credentials != nullptr;
  address_ = absl::StrCat(listen.substr(0, listen.rfind(':')), ":", acceptor_->port());
  grpc_ = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD, known);
  return absl::OkStatus();
}

void Listener::TakeGrpc(int listener, int connection) {
  grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters parameters;
  parameters.listener_fd = listener;
  parameters.fd = connection;
  grpc_->HandleNewConnection(&parameters);
}

void Listener::Start(std::function<bool()> held, TakeHttp1 http1) {
  if (acceptor_ == nullptr) return;
  ProtocolSplit::Take take = [this](int listener, int connection) {
    TakeGrpc(listener, connection);
  };
  if (http1 != nullptr) {
    split_ = ProtocolSplit::Start(
        tls_, [http1 = std::move(http1)](int, int connection) { http1(connection); },
        std::move(take));
    take = [this](int listener, int connection) { split_->Give(listener, connection); };
  }
  acceptor_->Start(std::move(take), std::move(held));
}

void Listener::Stop() {
  if (acceptor_ != nullptr) acceptor_->Stop();
  if (split_ != nullptr) split_->Stop();
}

void Listener::Report(const std::string& grpc_peer, Conduct conduct) {
  if (acceptor_ != nullptr) acceptor_->Report(grpc_peer, conduct);
}

ConnectionStats Listener::stats() const {
  return acceptor_ == nullptr ? ConnectionStats{} : acceptor_->stats();
}

}  // namespace bandana::server
