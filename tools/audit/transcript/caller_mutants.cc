#include "tools/audit/transcript/caller_mutants.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bandana/v1/recommender.pb.h"
#include "server/service/access/capability.h"
#include "tools/audit/transcript/forwarded_handlers.h"

namespace bandana::audit {
namespace {

// A name that can be guessed, in the form that is asked for where contexts are private.
std::string InForm(const std::string& name) {
  if (name.empty() || name.size() >= server::kCapabilityBytesMin) return name;
  return absl::StrCat("a-name-of-any-form-Zk4q9-", name);
}

// Any name is taken for a decision, also where contexts are private.
class TakesPlainNames final : public ForwardedHandlers {
 public:
  using ForwardedHandlers::ForwardedHandlers;
  absl::Status Select(const v1::SelectRequest& request, v1::SelectResponse& response) override {
    v1::SelectRequest named = request;
    named.set_decision_id(InForm(request.decision_id()));
    return ForwardedHandlers::Select(named, response);
  }
  void Report(const v1::ReportRequest& request, v1::ReportResponse& response,
              server::Finish finish) override {
    const auto named = std::make_shared<v1::ReportRequest>(request);
    for (v1::Outcome& outcome : *named->mutable_outcomes()) {
      outcome.set_decision_id(InForm(outcome.decision_id()));
    }
    ForwardedHandlers::Report(
        *named, response,
        [named, finish = std::move(finish)](absl::Status status) { finish(std::move(status)); });
  }
  void Activate(const v1::ActivateRequest& request, v1::ActivateResponse& response,
                server::Finish finish) override {
    const auto named = std::make_shared<v1::ActivateRequest>(request);
    for (std::string& name : *named->mutable_decision_ids()) name = InForm(name);
    ForwardedHandlers::Activate(
        *named, response,
        [named, finish = std::move(finish)](absl::Status status) { finish(std::move(status)); });
  }
};

std::unique_ptr<server::Handlers> AnyNameIsTaken(server::Handlers& to, const ListenerOfMutant&) {
  return std::make_unique<TakesPlainNames>(to);
}

}  // namespace

std::vector<Mutant> CallerMutants() {
  return {
      {.name = "reports-share-the-rate",
       .description = "server: calls of Report take from the rate that selections have",
       .seeds = 302,
       .reports_share_rate = true},
      {.name = "plain-names-are-taken",
       .description = "server: where contexts are private decisions have names that can be guessed",
       .seeds = 151,
       .wrap_handlers = AnyNameIsTaken},
  };
}

}  // namespace bandana::audit
