// One call of Admin's service in this process, without a socket.
#pragma once

#include <google/protobuf/message.h>
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/generic_stub.h>

#include <memory>
#include <string>

#include "server/service/transport/aside.h"
#include "server/service/transport/handed_calls.h"
#include "server/service/transport/taken_call.h"

namespace bandana::server {

// Methods wait. Threads: one at a time, but for Cancel.
class AdminCall {
 public:
  // `method`: package.Service/Method. `ticket`: of the caller.
  AdminCall(const std::shared_ptr<grpc::Channel>& channel, std::string_view method,
            std::unique_ptr<HandedCalls::Ticket> ticket);
  // Cancels what has not ended.
  ~AdminCall();
  AdminCall(const AdminCall&) = delete;
  AdminCall& operator=(const AdminCall&) = delete;

  // False: the call has ended, and Finish says how.
  bool Write(const google::protobuf::Message& message);
  bool EndWrites();
  bool Read(google::protobuf::Message& message);
  // How it ended. Call once, after the last Read.
  CallEnd Finish();
  void Cancel() { context_.TryCancel(); }

 private:
  bool Await();

  std::unique_ptr<HandedCalls::Ticket> ticket_;
  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  LooksAside looks_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream_;
  bool open_ = false;
  bool finished_ = false;
};

}  // namespace bandana::server
