// Token plaintexts: any bytes are a decision or nothing, and a decision has exactly one encoding.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/check.h"
#include "server/service/tokens/token_payload.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto decision = bandana::server::DecodeDecision(bytes);
  if (!decision) return 0;
  std::string again;
  bandana::server::EncodeDecision(*decision, decision->asked ? &*decision->asked : nullptr, again);
  BANDANA_CHECK(again == bytes);
  return 0;
}
