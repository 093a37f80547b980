// Token plaintexts: any bytes are a decision or nothing, and a decision has exactly one encoding,
// which zeros may follow.
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
  bandana::server::EncodeDecision(*decision, decision->asked ? &*decision->asked : nullptr, 0,
                                  again);
  BANDANA_CHECK(again.size() <= bytes.size());
  again.resize(bytes.size(), '\0');
  BANDANA_CHECK(again == bytes);
  return 0;
}
