// Seals of named answers under keys that are derived from those of tokens.
#pragma once

#include <cstdint>
#include <memory>

#include "server/service/decisions/answer_keys.h"
#include "server/service/tokens/token_keys.h"

namespace bandana::server {

class AnswerKeysOfTokens final : public AnswerKeys {
 public:
  // `tokens` must outlive it.
  explicit AnswerKeysOfTokens(const TokenKeys& tokens) : tokens_(tokens) {}

  SealKey Present() const override { return Of(tokens_.Present()); }
  std::shared_ptr<const AeadKey> Find(std::uint32_t id) const override {
    return Of(tokens_.Find(id)).key;
  }

 private:
  static SealKey Of(const std::shared_ptr<const TokenKey>& key) {
    if (key == nullptr || !key->answers) return {};
    return {.id = key->id, .key = std::shared_ptr<const AeadKey>(key, &*key->answers)};
  }
  const TokenKeys& tokens_;
};

}  // namespace bandana::server
