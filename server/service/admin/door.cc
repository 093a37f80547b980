#include "server/service/admin/door.h"

#include <grpcpp/server_context.h>

#include <algorithm>

#include "common/base/status.h"
#include "server/service/error_text.h"

namespace bandana::server {
namespace {

constexpr char kPushbackKey[] = "grpc-retry-pushback-ms";
constexpr absl::Duration kBusyPushback = absl::Milliseconds(250);

void PushBack(grpc::ServerContext& context, absl::Duration pause) {
  context.AddTrailingMetadata(
      kPushbackKey, absl::StrCat(std::max<std::int64_t>(1, absl::ToInt64Milliseconds(pause))));
}

}  // namespace

Door::Visit::Visit(Door& door, grpc::ServerContext& context, std::string_view method)
    : door_(door), method_(method) {
  if (door_.options_.gatekeeper != nullptr) {
    const std::string rpc = absl::StrCat("bandana.v1.Admin/", ToAbsl(method));
    const Admittance admittance = door_.options_.gatekeeper->Admit(context, FindRule(rpc));
    caller_ = admittance.caller;
    status_ = admittance.status;
    if (admittance.retry_after > absl::ZeroDuration()) PushBack(context, admittance.retry_after);
    if (!status_.ok()) return;
  }
  inside_ = door_.inside_.fetch_add(1) < door_.options_.calls_max && !door_.options_.overloaded();
  if (inside_) return;
  door_.inside_.fetch_sub(1);
  PushBack(context, kBusyPushback);
  status_ = absl::ResourceExhaustedError("the server is busy with calls that come first");
}

Door::Visit::~Visit() {
  if (inside_) door_.inside_.fetch_sub(1);
  if (!inside_ && caller_.principal == nullptr) return;
  door_.options_.on_call({.method = method_,
                          .caller = NameOf(caller_),
                          .model = TextForPeer(model_),
                          .code = status_.code()});
}

absl::Status Door::Visit::AllowModel(const std::string& model) {
  model_ = model.substr(0, kModelNameBytesMax);
  return AuthorizeModel(caller_, model);
}

}  // namespace bandana::server
