#include "server/ops/config/generated_token.h"

#include <array>
#include <optional>
#include <string_view>

#include "common/base/check.h"
#include "common/base/file.h"
#include "common/base/private_file.h"
#include "common/base/status.h"
#include "server/ops/config/security_spec.h"

namespace bandana::server {
namespace {

constexpr std::size_t kTokenBytes = 32;
constexpr std::uint64_t kFileBytesMax = 4096;

}  // namespace

absl::StatusOr<std::string> OpenGeneratedToken(const std::string& data_dir, BitSource& bits,
                                               AccessRules& rules) {
  BANDANA_CHECK(rules.generate_token && !rules.principals.empty());
  std::optional<Sha256Digest>& digest = rules.principals.front().token_digest;
  const std::string path = ResolvePath(kGeneratedTokenFile, data_dir);
  const absl::StatusOr<std::string> kept = ReadPrivateFile(path, kFileBytesMax);
  if (kept.ok()) {
    std::string_view hex = *kept;
    if (hex.ends_with('\n')) hex.remove_suffix(1);
    digest = DigestFromHex(hex);
    if (!digest) return DataLoss(path, ": must hold 64 hexadecimal digits");
    return "";
  }
  if (!absl::IsNotFound(kept.status())) return kept.status();
  std::array<std::byte, kTokenBytes> drawn;
  BANDANA_RETURN_IF_ERROR(bits.Fill(drawn));
  std::string token = ToHex(drawn);
  digest = Sha256Of(token);
  BANDANA_RETURN_IF_ERROR(WriteFileDurably(path, ToHex(*digest) + "\n", 0600));
  return token;
}

}  // namespace bandana::server
