#include "server/service/owners/hand_decision.h"

#include <algorithm>

#include "common/base/limits.h"
#include "common/design/mode_limits.h"

namespace bandana::server {

std::optional<internal::RecordRequest> RecordOf(TokenCodec& tokens, const PublicSpec& model,
                                                std::span<const Decision> slots) {
  const int fitting = kRankedFeaturesMax / model.dimension;
  const auto ranks =
      static_cast<std::size_t>(std::min(fitting, LimitsOf(model.mode).ranks_in_token));
  internal::RecordRequest request;
  request.set_model(model.name);
  internal::RecordedDecision& decision = *request.add_decisions();
  for (const Decision& slot : slots) {
    if (!tokens.Seal(slot, nullptr, ranks, *decision.add_slot_tokens()).ok()) return std::nullopt;
  }
  return request;
}

void HandDecisionTo(OwnerChannels& owners, TokenCodec& tokens, const std::string& owner,
                    const PublicSpec& model, std::span<const Decision> slots) {
  if (const auto request = RecordOf(tokens, model, slots)) owners.Record(owner, *request);
}

}  // namespace bandana::server
