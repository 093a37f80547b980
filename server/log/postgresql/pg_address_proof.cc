#include "server/log/postgresql/pg_address_proof.h"

#include <openssl/crypto.h>

#include "common/base/bytes.h"
#include "common/base/hmac.h"
#include "common/base/status.h"
#include "server/log/postgresql/pg_secret.h"

namespace bandana::server {
namespace {

constexpr std::string_view kPurpose = "bandana peer address 1";

void Put(std::string_view text, ByteWriter& out) {
  out.U32(static_cast<std::uint32_t>(text.size()));
  out.Fixed(AsBytes(text));
}

}  // namespace

absl::StatusOr<PgAddressProof> PgAddressProof::FromFile(const std::string& key_file) {
  BANDANA_ASSIGN_OR_RETURN(const Sha256Digest key, SecretFromKeyFile(key_file, kPurpose));
  return PgAddressProof(key);
}

std::string PgAddressProof::OfOwner(std::string_view log, std::int64_t term,
                                    std::string_view address) const {
  std::string what;
  ByteWriter out(what);
  Put("owner", out);
  Put(log, out);
  out.U64(static_cast<std::uint64_t>(term));
  Put(address, out);
  return Of(what);
}

std::string PgAddressProof::OfServer(std::string_view address, std::string_view name) const {
  std::string what;
  ByteWriter out(what);
  Put("server", out);
  Put(address, out);
  Put(name, out);
  return Of(what);
}

std::string PgAddressProof::Of(std::string_view what) const {
  Sha256Digest proof{};
  if (!HmacSha256(key_, what, proof)) return "";
  return std::string(AsChars(proof));
}

bool PgAddressProof::Same(std::string_view stored, std::string_view computed) {
  return !computed.empty() && stored.size() == computed.size() &&
         CRYPTO_memcmp(stored.data(), computed.data(), computed.size()) == 0;
}

}  // namespace bandana::server
