#include "server/api/admin/admin_routes.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/strip.h"
#include "bandana/v1/admin.pb.h"
#include "common/base/check.h"
#include "server/api/routes.h"

namespace bandana::server {
namespace {

constexpr std::string_view kServer = "/v1/admin:";

std::string VerbOf(const Rpc& rpc, bool of_model) {
  absl::string_view verb(rpc.method().data(), rpc.method().size());
  absl::ConsumePrefix(&verb, "Get");
  if (of_model) absl::ConsumeSuffix(&verb, "Model");
  std::string text(verb);
  text[0] = absl::ascii_tolower(static_cast<unsigned char>(text[0]));
  return text;
}

AdminForm FormOf(bool is_stream, const google::protobuf::Descriptor& message) {
  if (!is_stream) return AdminForm::kMessage;
  const bool is_bytes =
      &message == v1::ImportRequest::descriptor() || &message == v1::Chunk::descriptor();
  return is_bytes ? AdminForm::kBytes : AdminForm::kRows;
}

std::vector<AdminRpc> MakeRpcs() {
  const google::protobuf::ServiceDescriptor& admin =
      *v1::CreateModelRequest::descriptor()->file()->FindServiceByName("Admin");
  std::vector<AdminRpc> rpcs;
  for (const Rpc& rpc : AllRpcs()) {
    if (!rpc.is_admin() || rpc.method() == "CheckImport") continue;
    const auto* const method = admin.FindMethodByName(std::string(rpc.method()));
    BANDANA_CHECK(method != nullptr);
    AdminRpc one{.rpc = &rpc, .method = method};
    one.of_model = rpc.rule.scope == Scope::kNamedModel;
    one.verb = VerbOf(rpc, one.of_model);
    one.sends = FormOf(method->client_streaming(), *method->input_type());
    one.answers = FormOf(method->server_streaming(), *method->output_type());
    rpcs.push_back(std::move(one));
  }
  return rpcs;
}

}  // namespace

std::string AdminRpc::Path() const {
  return (of_model ? "/v1/models/{model}:" : "/v1/admin:") + verb;
}

const std::vector<AdminRpc>& AdminRpcs() {
  static const auto& rpcs = *new std::vector<AdminRpc>(MakeRpcs());
  return rpcs;
}

std::optional<AdminRoute> FindAdminRoute(std::string_view path) {
  const std::optional<std::string> plain = Unescaped(path);
  if (!plain) return std::nullopt;
  std::string model;
  std::string verb;
  if (plain->starts_with(kServer)) {
    verb = plain->substr(kServer.size());
  } else if (const std::optional<ModelPath> parts = ModelPathOf(*plain)) {
    model = parts->model;
    verb = parts->verb;
  } else {
    return std::nullopt;
  }
  const auto found = std::ranges::find_if(AdminRpcs(), [&](const AdminRpc& one) {
    return one.verb == verb && one.of_model == !model.empty();
  });
  if (found == AdminRpcs().end()) return std::nullopt;
  return AdminRoute{.of = &*found, .model = std::move(model)};
}

}  // namespace bandana::server
