#include "server/service/admin/admin_gate.h"

#include <grpcpp/server_context.h>

#include <algorithm>
#include <cctype>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "server/service/transport/rpcs.h"

namespace bandana::server {
namespace {

constexpr char kPushbackKey[] = "grpc-retry-pushback-ms";
constexpr absl::Duration kBusyPushback = absl::Milliseconds(250);

void PushBack(grpc::ServerContext& context, absl::Duration pause) {
  context.AddTrailingMetadata(
      kPushbackKey, absl::StrCat(std::max<std::int64_t>(1, absl::ToInt64Milliseconds(pause))));
}

// For the log: names of models have no other characters.
std::string Name(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return !std::isalnum(c) && c != '-'; }, '?');
  return text;
}

}  // namespace

AdminGate::Call::Call(AdminGate& gate, grpc::ServerContext& context, std::string_view method)
    : gate_(gate), context_(context), method_(method), arrival_(SteadyNow()) {
  gate_.options_.conduct(context.peer(), Conduct::kArrived);
  if (gate_.options_.gatekeeper != nullptr) {
    const std::string rpc = absl::StrCat("bandana.v1.Admin/", ToAbsl(method));
    const Admittance admittance = gate_.options_.gatekeeper->Admit(context, FindRule(rpc));
    caller_ = admittance.caller;
    status_ = admittance.status;
    if (admittance.retry_after > absl::ZeroDuration()) PushBack(context, admittance.retry_after);
    if (absl::IsUnauthenticated(status_)) {
      gate_.options_.conduct(context.peer(), Conduct::kRefused);
    }
    if (!status_.ok()) return;
  }
  inside_ = gate_.inside_.fetch_add(1) < gate_.options_.calls_max && !gate_.options_.overloaded();
  if (inside_) return;
  gate_.inside_.fetch_sub(1);
  PushBack(context, kBusyPushback);
  status_ = absl::ResourceExhaustedError("the server is busy with calls that come first");
}

AdminGate::Call::~Call() {
  if (inside_) gate_.inside_.fetch_sub(1);
  const absl::Duration duration = SteadyNow() - arrival_;
  gate_.options_.on_end(method_, status_.raw_code(), duration);
  const bool reads = method_.starts_with("Get") || method_.starts_with("List");
  const bool known = inside_ || caller_.principal != nullptr;
  if ((known && !reads) || HasLine(status_.raw_code(), duration)) WriteLine(duration);
}

void AdminGate::Call::WriteLine(absl::Duration duration) {
  if (gate_.options_.log == nullptr) return;
  const CallRecord record = {.admin = true,
                             .method = method_,
                             .caller = std::string(NameOf(caller_)),
                             .model = Name(model_),
                             .status_code = status_.raw_code(),
                             .duration = duration,
                             .request_id = NewRequestId(),
                             .trace_id = TraceIdOf(context_)};
  if (!status_.ok()) context_.AddTrailingMetadata(kRequestIdKey, record.request_id);
  gate_.options_.log->Write(record);
}

absl::Status AdminGate::Call::AllowModel(const std::string& model) {
  model_ = model.substr(0, kModelNameBytesMax);
  return AuthorizeModel(caller_, model);
}

}  // namespace bandana::server
