// A decision that was made by a follower, on its way to the model's owner.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "common/design/model_spec.h"
#include "common/model/entries/decision.h"
#include "server/service/owners/owner_channels.h"
#include "server/service/tokens/token.h"

namespace bandana::server {

// The slots, sealed. Where contexts are private a slot has one size, however many arms were on
// offer. Nothing: they cannot be sealed.
std::optional<internal::RecordRequest> RecordOf(TokenCodec& tokens, const PublicSpec& model,
                                                std::span<const Decision> slots);

// ModelRegistry::Options::hand_decision: seals the slots, and sends them. A decision that cannot be
// sealed is lost, like one that is lost on the way. Threads: safe.
void HandDecisionTo(OwnerChannels& owners, TokenCodec& tokens, const std::string& owner,
                    const PublicSpec& model, std::span<const Decision> slots);

}  // namespace bandana::server
