#include "server/service/admin/admin_listener.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <utility>

#include "common/base/limits.h"
#include "common/base/status.h"
#include "server/service/admin/admin_service.h"
#include "server/service/transport/aside.h"
#include "server/service/transport/reflection_service.h"

namespace bandana::server {

AdminListener::AdminListener(std::shared_ptr<grpc::ServerCredentials> credentials)
    : credentials_(std::move(credentials)) {}

absl::StatusOr<std::unique_ptr<AdminListener>> AdminListener::Bind(
    const std::string& listen, std::shared_ptr<grpc::ServerCredentials> credentials,
    const ConnectionLimits& connections, grpc::Service* service) {
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  std::unique_ptr<AdminListener> admin(new AdminListener(std::move(credentials)));
  grpc::ServerBuilder builder;
  SetListenerLimits(builder, connections, kAdminMessageBytesMax);
  BANDANA_RETURN_IF_ERROR(Annotate(
      admin->listener_.Open(listen, admin->credentials_, connections, builder), "admin_listen"));
  builder.RegisterService(service);
  admin->reflection_ = MakeReflectionService({AdminService::kName});
  builder.RegisterService(admin->reflection_.get());
  // Beside a queue that somebody looks at, the threads of its calls wait outside gRPC.
  admin->queue_ = builder.AddCompletionQueue();
  admin->server_ = builder.BuildAndStart();
  if (admin->server_ == nullptr) return Unavailable("admin_listen: cannot serve on ", listen);
  admin->looking_ = std::thread([&queue = *admin->queue_] {
    void* tag = nullptr;
    bool ok = false;
    LooksAside looks(std::chrono::milliseconds(50));  // nothing comes there but its end
    while (looks.Next(queue, &tag, &ok)) {
    }
  });
  return admin;
}

void AdminListener::Start(Listener::TakeHttp1 http1) {
  // Its calls are answered one by one, by threads of their own: none holds the others up.
  listener_.Start(nullptr, std::move(http1));
}

AdminListener::~AdminListener() {
  if (server_ != nullptr) Shutdown(absl::ZeroDuration());
}

std::shared_ptr<grpc::Channel> AdminListener::InProcess() {
  return server_->InProcessChannel(InProcessLimits(kAdminMessageBytesMax));
}

void AdminListener::Shutdown(absl::Duration patience) {
  listener_.Stop();
  server_->Shutdown(After(patience));
  std::call_once(ended_, [this] {
    queue_->Shutdown();
    looking_.join();
  });
}

}  // namespace bandana::server
