#include "server/service/tls/peer_identity.h"

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <memory>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "server/service/tls/owned.h"

namespace bandana::server {
namespace {

constexpr char kAuthority[] = "bandana-peers";
constexpr char kBegin[] = "20000101000000Z";
constexpr char kEnd[] = "99991231235959Z";  // RFC 5280, 4.1.2.5: no end

using Extension = std::unique_ptr<X509_EXTENSION, FreeWith<X509_EXTENSION_free>>;

bool AddExtension(X509* certificate, int nid, const std::string& value) {
  const Extension extension(X509V3_EXT_conf_nid(nullptr, nullptr, nid, value.c_str()));
  return extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1;
}

bool SetName(X509_NAME* name, const char* text) {
  return X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                                    reinterpret_cast<const unsigned char*>(text), -1, -1, 0) == 1;
}

// Signed by nobody yet. Null: OpenSSL failed.
OwnedCertificate Unsigned(const char* subject, std::uint64_t serial, EVP_PKEY* key) {
  OwnedCertificate made(X509_new());
  const bool good = made != nullptr && X509_set_version(made.get(), 2) == 1 &&
                    ASN1_INTEGER_set_uint64(X509_get_serialNumber(made.get()), serial) == 1 &&
                    ASN1_TIME_set_string_X509(X509_getm_notBefore(made.get()), kBegin) == 1 &&
                    ASN1_TIME_set_string_X509(X509_getm_notAfter(made.get()), kEnd) == 1 &&
                    SetName(X509_get_subject_name(made.get()), subject) &&
                    SetName(X509_get_issuer_name(made.get()), kAuthority) &&
                    X509_set_pubkey(made.get(), key) == 1;
  return good ? std::move(made) : nullptr;
}

// Ed25519 signs without randomness: each server makes the same certificate.
OwnedCertificate MakeAuthority(EVP_PKEY* key) {
  OwnedCertificate made = Unsigned(kAuthority, 1, key);
  const bool good = made != nullptr &&
                    AddExtension(made.get(), NID_basic_constraints, "critical,CA:TRUE") &&
                    AddExtension(made.get(), NID_key_usage, "critical,keyCertSign") &&
                    X509_sign(made.get(), key, nullptr) > 0;
  return good ? std::move(made) : nullptr;
}

OwnedCertificate MakeLeaf(EVP_PKEY* key, EVP_PKEY* authority, const std::string& name) {
  std::uint64_t serial = 0;
  if (RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial) != 1) return nullptr;
  OwnedCertificate made = Unsigned(kPeerSubject, serial >> 1, key);
  const bool good = made != nullptr &&
                    AddExtension(made.get(), NID_basic_constraints, "critical,CA:FALSE") &&
                    AddExtension(made.get(), NID_subject_alt_name, absl::StrCat("DNS:", name)) &&
                    AddExtension(made.get(), NID_ext_key_usage, "serverAuth,clientAuth") &&
                    X509_sign(made.get(), authority, nullptr) > 0;
  return good ? std::move(made) : nullptr;
}

// Empty: OpenSSL failed.
template <typename Write>
std::string ToPem(Write write) {
  const OwnedBio bio(BIO_new(BIO_s_mem()));
  if (bio == nullptr || write(bio.get()) != 1) return "";
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}
std::string ToPem(X509* certificate) {
  return ToPem([&](BIO* bio) { return PEM_write_bio_X509(bio, certificate); });
}
std::string ToPem(EVP_PKEY* key) {
  return ToPem([&](BIO* bio) {
    return PEM_write_bio_PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr);
  });
}

}  // namespace

std::string PeerNameOf(std::string_view address) {
  // A label of a name has at most 63 characters.
  return absl::StrCat(ToHex(Sha256Of(address)).substr(0, 40), ".", kPeerSubject);
}

absl::StatusOr<PeerIdentity> MakePeerIdentity(const Sha256Digest& secret,
                                              std::string_view address) {
  const OwnedKey authority_key(EVP_PKEY_new_raw_private_key(
      EVP_PKEY_ED25519, nullptr, reinterpret_cast<const unsigned char*>(secret.data()),
      secret.size()));
  const OwnedKey key(EVP_EC_gen("P-256"));
  PeerIdentity identity;
  if (authority_key != nullptr && key != nullptr) {
    const OwnedCertificate authority = MakeAuthority(authority_key.get());
    const OwnedCertificate leaf = MakeLeaf(key.get(), authority_key.get(), PeerNameOf(address));
    if (authority != nullptr) identity.authority_pem = ToPem(authority.get());
    if (leaf != nullptr) identity.certificate_pem = ToPem(leaf.get());
    identity.private_key_pem = ToPem(key.get());
  }
  if (identity.authority_pem.empty() || identity.certificate_pem.empty() ||
      identity.private_key_pem.empty()) {
    return Unavailable("OpenSSL cannot make the certificates of peers");
  }
  return identity;
}

}  // namespace bandana::server
