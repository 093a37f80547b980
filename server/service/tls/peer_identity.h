// Certificates by which the servers of one database know one another: made from a secret that they
// share, and from nothing else.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/base/sha256.h"

namespace bandana::server {

// The subject (common name) of every such certificate.
inline constexpr char kPeerSubject[] = "bandana-peer";

// Who holds the secret has the authority that signs the certificates: it follows from the secret.
// The key of a certificate is drawn anew for each object, and a certificate is bound to the address
// that its server is reached at. They have no end: a clock that is wrong keeps no server out.
struct PeerIdentity {
  std::string authority_pem;    // the same for whoever has the secret
  std::string certificate_pem;  // for both sides of a handshake
  std::string private_key_pem;
};

// Errors: UNAVAILABLE OpenSSL failed.
absl::StatusOr<PeerIdentity> MakePeerIdentity(const Sha256Digest& secret, std::string_view address);

// The name in the certificate of the server that is reached at the address.
std::string PeerNameOf(std::string_view address);

}  // namespace bandana::server
