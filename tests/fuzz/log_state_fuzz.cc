// The log's state row: any body with a fitting checksum is a state with one encoding, or an error.
#include <cstddef>
#include <cstdint>
#include <string>

#include "common/base/check.h"
#include "common/base/sha256.h"
#include "server/log/log_state.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  bytes += bandana::AsChars(bandana::Sha256Of(bytes));
  const auto state = bandana::server::DecodeLogState(bytes);
  if (!state.ok()) return 0;
  const std::string again = bandana::server::EncodeLogState(*state);
  if (again[0] == bytes[0]) {
    BANDANA_CHECK(again == bytes);
  } else {  // a former version, which had fewer numbers
    const auto same = bandana::server::DecodeLogState(again);
    BANDANA_CHECK(same.ok() && bandana::server::EncodeLogState(*same) == again);
  }
  return 0;
}
