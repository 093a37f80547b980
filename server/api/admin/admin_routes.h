// The paths of Admin over HTTP, made from the table of rpcs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/service/transport/rpcs.h"

namespace google::protobuf {
class MethodDescriptor;
}

namespace bandana::server {

// How the messages of an rpc are a body.
enum class AdminForm {
  kMessage,  // JSON
  kRows,     // a stream of arms or users: JSON Lines or CSV
  kBytes     // a stream of bytes: application/octet-stream
};

struct AdminRpc {
  const Rpc* rpc = nullptr;
  const google::protobuf::MethodDescriptor* method = nullptr;
  std::string verb;       // putArms; of a model's: update, stats
  bool of_model = false;  // the path names a model
  AdminForm sends = AdminForm::kMessage;
  AdminForm answers = AdminForm::kMessage;

  // `/v1/models/{model}:VERB` or `/v1/admin:VERB`.
  std::string Path() const;
};

// All that have a path: CheckImport has none, as HTTP brings no header before the bytes.
const std::vector<AdminRpc>& AdminRpcs();

struct AdminRoute {
  const AdminRpc* of = nullptr;
  std::string model;  // of the path
};

// Nothing: no such path.
std::optional<AdminRoute> FindAdminRoute(std::string_view path);

}  // namespace bandana::server
