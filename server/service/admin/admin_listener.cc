#include "server/service/admin/admin_listener.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>

#include <utility>

#include "common/base/limits.h"
#include "common/base/status.h"
#include "server/service/listener.h"

namespace bandana::server {

absl::StatusOr<std::unique_ptr<AdminListener>> AdminListener::Start(
    const std::string& listen, std::shared_ptr<grpc::ServerCredentials> credentials,
    grpc::Service* service) {
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  SetListenerLimits(builder, kAdminMessageBytesMax);
  int port = 0;
  if (credentials == nullptr) credentials = grpc::InsecureServerCredentials();
  builder.AddListeningPort(listen, credentials, &port);
  builder.RegisterService(service);
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) {
    return Unavailable("admin_listen: cannot listen on ", listen,
                       ": the address is in use, not of this machine, or not permitted");
  }
  return std::unique_ptr<AdminListener>(
      new AdminListener(WithPort(listen, port), std::move(credentials), std::move(server)));
}

AdminListener::AdminListener(std::string address,
                             std::shared_ptr<grpc::ServerCredentials> credentials,
                             std::unique_ptr<grpc::Server> server)
    : address_(std::move(address)),
      credentials_(std::move(credentials)),
      server_(std::move(server)) {}

AdminListener::~AdminListener() { Shutdown(absl::InfinitePast()); }

void AdminListener::Shutdown(absl::Time deadline) {
  server_->Shutdown(absl::ToChronoTime(deadline));
}

}  // namespace bandana::server
