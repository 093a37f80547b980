#include "server/service/named_decisions.h"

#include <optional>
#include <utility>
#include <variant>

#include "common/base/check.h"
#include "common/base/sha256.h"
#include "common/base/status.h"
#include "common/design/mode.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "server/service/access/current_caller.h"
#include "server/service/agreed_policy.h"
#include "server/service/decision_rules.h"
#include "server/service/selection.h"

namespace bandana::server {
namespace {

DecisionName NameOf(const Answering& asked, const std::string& decision_id) {
  return {.model = asked.alias == nullptr ? asked.model->spec().public_spec.name
                                          : asked.alias->spec.name,
          .caller = CurrentCaller::name(),
          .id = decision_id};
}

// SHA-256 of the request in wire form, fields by number and maps by key.
Sha256Digest ContentOf(const v1::SelectRequest& request) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream out(&stream);
    out.SetSerializationDeterministic(true);
    BANDANA_CHECK(request.SerializeToCodedStream(&out));
  }
  return Sha256Of(bytes);
}

}  // namespace

absl::Status SelectOnce(const Answering& to, const v1::SelectRequest& request, absl::Time now,
                        const SelectServices& services, v1::SelectResponse& response) {
  BANDANA_RETURN_IF_ERROR(CheckPolicy(to, request.policy_hash()));
  const PublicSpec& spec = to.model->spec().public_spec;
  const auto decide = [&] {
    return Select(to, request, services.arms_max, now, services.tokens, response);
  };
  // Where the server selects nothing it remembers nothing.
  if (request.decision_id().empty() || !ModeOf(spec.mode).no_select.empty()) return decide();
  BANDANA_RETURN_IF_ERROR(CheckDecisionFields(request, to.model->spec()));
  const IsServed is_served = [&](std::string_view model, const auto& instance) {
    const std::shared_ptr<HostedModel> maker = services.registry.Find(model);
    if (maker != nullptr) return maker->instance() == instance;
    return absl::IsUnavailable(AbsenceOf(services.registry, model));
  };
  BANDANA_ASSIGN_OR_RETURN(auto taken, services.book.Take(NameOf(to, request.decision_id()),
                                                          ContentOf(request), is_served));
  if (const auto* known = std::get_if<std::string>(&taken)) {
    return response.ParseFromString(*known) ? absl::OkStatus()
                                            : Internal("the stored answer does not parse");
  }
  BANDANA_RETURN_IF_ERROR(decide());
  std::get<DecisionBook::Claim>(taken).Keep({.content = {},
                                             .until = now + spec.token_lifetime,
                                             .maker = spec.name,
                                             .instance = to.model->instance(),
                                             .user = Sha256Of(request.user()),
                                             .answer = response.SerializeAsString()});
  return absl::OkStatus();
}

std::vector<std::string> NamedTokens(DecisionBook& book, const Answering& asked,
                                     const std::string& decision_id) {
  const std::optional<std::string> answer = book.Find(NameOf(asked, decision_id));
  v1::SelectResponse response;
  if (!answer || !response.ParseFromString(*answer)) return {};
  if (response.slot_tokens().empty()) return {response.token()};
  return {response.slot_tokens().begin(), response.slot_tokens().end()};
}

}  // namespace bandana::server
