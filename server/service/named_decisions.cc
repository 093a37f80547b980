#include "server/service/named_decisions.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <variant>

#include "common/base/check.h"
#include "common/base/limits.h"
#include "common/base/sha256.h"
#include "common/base/status.h"
#include "common/design/family.h"
#include "common/design/mode_limits.h"
#include "common/promise/mode.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "server/service/access/current_caller.h"
#include "server/service/agreed_policy.h"
#include "server/service/decision_rules.h"
#include "server/service/policies/choice.h"
#include "server/service/selection.h"

namespace bandana::server {
namespace {

DecisionName NameOf(const ResolvedModel& asked, const std::string& decision_id) {
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

// Bytes that no answer to a named decision has more of where contexts are private: of all but its
// ranks, and of each rank beside the numbers of its arm. Notes and explanations are not in it.
constexpr std::size_t kAnswerBytesMax = 1024;
constexpr std::size_t kRankBytesMax = 256;
static_assert(kUserIdBytesMax + 2 * kModelNameBytesMax + kDecisionIdBytesMax < 512);
static_assert(kArmNameBytesMax == 128);

// Where contexts are private an answer takes as much room whatever was on offer: how much of the
// memory and of the file is taken can be seen.
std::size_t KeptBytes(const v1::SelectRequest& request, const ModelSpec& spec) {
  const std::size_t ranks = std::max(request.top_k(), 1U);
  const auto numbers =
      static_cast<std::size_t>(spec.public_spec.dimension) + FamilyOf(spec).key_parts(spec);
  const auto sealed = static_cast<std::size_t>(SealedRanksOf(request));
  return kAnswerBytesMax + 8 * numbers + ranks * kRankBytesMax + sealed * 8 * numbers;
}

// Fills the message up with a field that no message has, to `size` bytes. False: it is too long.
bool FillUp(std::size_t size, std::string& message) {
  constexpr std::uint32_t kField = 2000;
  constexpr std::size_t kHeadBytes = 6;
  if (message.size() + kHeadBytes > size) return false;
  const auto length = static_cast<std::uint32_t>(size - message.size() - kHeadBytes);
  std::array<std::uint8_t, kHeadBytes> head{};
  using google::protobuf::io::CodedOutputStream;
  CodedOutputStream::WriteTagToArray(kField << 3 | 2, head.data());
  // Four bytes for any length.
  for (std::size_t i = 0; i < 4; ++i) {
    head[2 + i] = static_cast<std::uint8_t>((length >> 7 * i & 0x7f) | (i < 3 ? 0x80 : 0));
  }
  message.append(head.begin(), head.end()).append(length, '\0');
  return true;
}

absl::StatusOr<std::string> Kept(const v1::SelectRequest& request, const ModelSpec& spec,
                                 const v1::SelectResponse& response) {
  std::string bytes = response.SerializeAsString();
  if (LimitsOf(spec.public_spec.mode).plain_names.empty() ||
      FillUp(KeptBytes(request, spec), bytes)) {
    return bytes;
  }
  return Internal("the answer is longer than any");
}

bool ReadKept(const std::string& kept, v1::SelectResponse& response) {
  if (!response.ParseFromString(kept)) return false;
  response.DiscardUnknownFields();
  return true;
}

}  // namespace

absl::Status SelectOnce(const ResolvedModel& to, const v1::SelectRequest& request, absl::Time now,
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
    const std::shared_ptr<ServedModel> maker = services.registry.Find(model);
    if (maker != nullptr) return maker->instance() == instance;
    return absl::IsUnavailable(AbsenceOf(services.registry, model));
  };
  BANDANA_ASSIGN_OR_RETURN(auto taken,
                           services.decision_index.Take(NameOf(to, request.decision_id()),
                                                        ContentOf(request), is_served));
  if (const auto* known = std::get_if<std::string>(&taken)) {
    return ReadKept(*known, response) ? absl::OkStatus()
                                      : Internal("the stored answer does not parse");
  }
  BANDANA_RETURN_IF_ERROR(decide());
  if (!LimitsOf(spec.mode).plain_names.empty()) response.clear_notes();
  BANDANA_ASSIGN_OR_RETURN(std::string kept, Kept(request, to.model->spec(), response));
  std::get<DecisionIndex::Claim>(taken).Keep({.content = {},
                                              .until = now + spec.token_lifetime,
                                              .maker = spec.name,
                                              .instance = to.model->instance(),
                                              .user = Sha256Of(request.user()),
                                              .answer = std::move(kept)});
  return absl::OkStatus();
}

std::vector<std::string> NamedTokens(DecisionIndex& decision_index, const ResolvedModel& asked,
                                     const std::string& decision_id) {
  const std::optional<std::string> answer = decision_index.Find(NameOf(asked, decision_id));
  v1::SelectResponse response;
  if (!answer || !ReadKept(*answer, response)) return {};
  if (response.slot_tokens().empty()) return {response.token()};
  return {response.slot_tokens().begin(), response.slot_tokens().end()};
}

}  // namespace bandana::server
