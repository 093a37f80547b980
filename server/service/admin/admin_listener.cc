#include "server/service/admin/admin_listener.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>

#include <utility>

#include "common/base/limits.h"
#include "common/base/status.h"

namespace bandana::server {

AdminListener::AdminListener(std::shared_ptr<grpc::ServerCredentials> credentials)
    : credentials_(std::move(credentials)) {}

absl::StatusOr<std::unique_ptr<AdminListener>> AdminListener::Start(
    const std::string& listen, std::shared_ptr<grpc::ServerCredentials> credentials,
    const ConnectionLimits& connections, grpc::Service* service) {
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  std::unique_ptr<AdminListener> admin(new AdminListener(std::move(credentials)));
  grpc::ServerBuilder builder;
  SetListenerLimits(builder, kAdminMessageBytesMax);
  BANDANA_RETURN_IF_ERROR(Annotate(
      admin->listener_.Open(listen, admin->credentials_, connections, builder), "admin_listen"));
  builder.RegisterService(service);
  admin->server_ = builder.BuildAndStart();
  if (admin->server_ == nullptr) return Unavailable("admin_listen: cannot serve on ", listen);
  admin->listener_.Start(nullptr);  // its calls are answered one by one, by threads of their own
  return admin;
}

AdminListener::~AdminListener() {
  if (server_ != nullptr) Shutdown(absl::InfinitePast());
}

void AdminListener::Shutdown(absl::Time deadline) {
  listener_.Stop();
  server_->Shutdown(absl::ToChronoTime(deadline));
}

}  // namespace bandana::server
