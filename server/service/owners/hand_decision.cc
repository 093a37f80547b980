#include "server/service/owners/hand_decision.h"

namespace bandana::server {

void HandDecisionTo(OwnerChannels& owners, TokenCodec& tokens, const std::string& owner,
                    const std::string& model, std::span<const Decision> slots) {
  internal::RecordRequest request;
  request.set_model(model);
  internal::RecordedDecision& decision = *request.add_decisions();
  for (const Decision& slot : slots) {
    if (!tokens.Seal(slot, *decision.add_slot_tokens()).ok()) return;
  }
  owners.Record(owner, request);
}

}  // namespace bandana::server
