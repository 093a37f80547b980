#include "tools/audit/transcript/listeners.h"

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/base/sha256.h"
#include "server/service/transport/rpcs.h"

namespace bandana::audit {
namespace {

constexpr char kToken[] = "token-of-all-callers";

// The rpc whose request this is: messages are named after their rpc.
const server::Rpc& RpcOf(const google::protobuf::Message& request) {
  const std::string& message = request.GetDescriptor()->name();
  return server::RpcNamed(
      absl::StrCat("bandana.v1.Recommender/", message.substr(0, message.rfind("Request"))));
}

server::AccessRules RulesOf(const CallRate& rate) {
  server::Principal app;
  app.name = "app";
  app.token_digest = Sha256Of(kToken);
  app.roles = server::Role::kSelect | server::Role::kReport;
  app.calls_per_second = rate.calls_per_second;
  app.burst = rate.burst;
  server::AccessRules rules;
  rules.principals.push_back(std::move(app));
  return rules;
}

// A call of gRPC, but for its socket.
struct GrpcCall final : server::CallOrigin {
  std::string Peer() const override { return ""; }
  server::TraceParent Trace() const override { return server::ParseTraceparent(kTraceparent); }

  server::TakenCall taken;
};

std::unique_ptr<server::Handlers> Broken(const ListenerOptions& options) {
  if (options.mutant == nullptr || !options.mutant->wrap_handlers) return nullptr;
  return options.mutant->wrap_handlers(
      *options.handlers,
      {.api = options.api, .models = *options.models, .observer = *options.observer});
}

}  // namespace

Listeners::Listeners(const ListenerOptions& options)
    : options_(options),
      gatekeeper_(RulesOf(options.rate), *options.clock),
      broken_(Broken(options)),
      handlers_(broken_ != nullptr ? *broken_ : *options.handlers),
      desk_({.gatekeeper = &gatekeeper_,
             .observer = options.observer,
             .log = options.log,
             .spans = options.spans,
             .calls_max = kCallsInFlightMaxDefault,
             .keeps_unrecorded = server::UnrecordedBy(handlers_)}) {
  if (!ByHttp(options.api)) return;
  server::ApiServerOptions api;
  api.personalizer.model = options.asked;
  api.gatekeeper = &gatekeeper_;
  api.observer = options.observer;
  api.log = options.log;
  api.spans = options.spans;
  api_ =
      std::make_unique<server::HttpApi>(api, handlers_, [](const std::string&, server::Conduct) {});
}

Listeners::~Listeners() {
  if (api_ != nullptr) api_->calls().Close();
  desk_.EndUnfinished();
}

void Listeners::Count(const google::protobuf::Message& request) {
  ++(ByHttp(options_.api) ? traffic_.by_http : traffic_.by_grpc);
  if (const auto* report = dynamic_cast<const v1::ReportRequest*>(&request)) {
    if (options_.mutant != nullptr && options_.mutant->reports_share_rate) {
      const std::string bearer = absl::StrCat("Bearer ", kToken);
      gatekeeper_.Admit(server::Credentials{.authorization = {bearer}, .subjects = {}},
                        &server::RpcNamed("bandana.v1.Recommender/Select").rule);
    }
    if (options_.mutant != nullptr && options_.mutant->spans_tell_reports) {
      options_.spans->Write({.method = "Report"});
    }
    for (const v1::Outcome& outcome : report->outcomes()) {
      if (!outcome.decision_id().empty()) ++traffic_.reports_by_name;
    }
  }
}

void Listeners::CallDoor(const google::protobuf::Message& request,
                         google::protobuf::Message& response,
                         std::function<void(absl::Status)> done) {
  Count(request);
  CallByHttp(*api_, {.api = options_.api, .model = options_.asked, .token = kToken}, RpcOf(request),
             request, response, std::move(done));
}

void Listeners::CallGrpc(const google::protobuf::Message& request, const Answered& done) {
  Count(request);
  const server::Rpc& rpc = RpcOf(request);
  const std::shared_ptr<server::Exchange> exchange = rpc.make_exchange();
  exchange->request().CopyFrom(request);
  const auto call = std::make_shared<GrpcCall>();
  const auto end = [call, exchange, done](const absl::Status& status) {
    call->taken.End(status);
    done(status, exchange->response());
  };
  call->taken.TakeIn(desk_, rpc, "", *call);
  const std::string bearer = absl::StrCat("Bearer ", kToken);
  const absl::Status admitted =
      call->taken.Admit(server::Credentials{.authorization = {bearer}, .subjects = {}});
  if (!admitted.ok()) return end(admitted);
  call->taken.Run(exchange, {handlers_}, end);
}

void Listeners::Show(server::ServerView& view) const {
  view.calls_in_flight = desk_.slots.shown_in_flight() +
                         (api_ == nullptr ? 0 : api_->calls().desk().slots.shown_in_flight());
  // As GrpcServer and ApiServer tell of theirs.
  const bool unrecorded = options_.handlers->KeepsReportsUnrecorded("");
  view.leaves_out_descriptors = unrecorded;
  if (unrecorded) return;
  view.connections["listen"] = {.open = traffic_.by_grpc, .accepted = traffic_.by_grpc};
  view.connections["api_listen"] = {.open = traffic_.by_http, .accepted = traffic_.by_http};
}

}  // namespace bandana::audit
