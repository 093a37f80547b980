// The identity file: any text with a fitting checksum is an identity or an error.
#include <cstddef>
#include <cstdint>
#include <string>

#include "common/base/check.h"
#include "common/base/sha256.h"
#include "common/design/identity.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string text(reinterpret_cast<const char*>(data), size);
  text += "sha256 " + bandana::ToHex(bandana::Sha256Of(text)) + "\n";
  const auto identity = bandana::ParseIdentity(text);
  if (!identity.ok()) return 0;
  const auto again = bandana::ParseIdentity(bandana::FormatIdentity(*identity));
  BANDANA_CHECK(again.ok());
  BANDANA_CHECK(again->instance == identity->instance);
  return 0;
}
