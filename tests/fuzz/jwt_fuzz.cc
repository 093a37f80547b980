// Signed tokens and key sets: the first byte says which.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "common/base/check.h"
#include "server/service/access/jwt.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bandana::server;  // NOLINT
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  static const JwtKeySet keys =
      ParseJwtKeys(R"({"keys":[{"kty":"OKP","crv":"Ed25519","kid":"k",)"
                   R"("x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]})")
          ->keys;
  if (data[0] % 2 == 0) {
    (void)ParseJwtKeys(text);
    return 0;
  }
  const auto read = ReadJwt(text);
  if (!read.ok()) return 0;
  // Nobody has the key: no input is a token of it.
  const auto verified = VerifyJwt(*read, keys, "bandana", absl::FromUnixSeconds(1'700'000'000));
  BANDANA_CHECK(!verified.ok());
  return 0;
}
