#include "server/service/tls/tls_files.h"

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <ctime>
#include <memory>

#include "absl/strings/match.h"
#include "common/base/file.h"
#include "common/base/private_file.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "server/service/tls/owned.h"

namespace bandana::server {
namespace {

constexpr std::uint64_t kPemBytesMax = 1 << 20;

OwnedBio Reader(const std::string& pem) {
  return OwnedBio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
}

// Without it OpenSSL asks the terminal.
int NoPassword(char*, int, int, void*) { return 0; }

absl::StatusOr<absl::Time> TimeOf(const ASN1_TIME* asn1) {
  std::tm parts{};
  if (asn1 == nullptr || ASN1_TIME_to_tm(asn1, &parts) != 1) {
    return InvalidArgument("holds a certificate whose validity cannot be read");
  }
  return absl::FromTimeT(::timegm(&parts));
}

// The first certificate of the text; every further one must parse too.
absl::StatusOr<OwnedCertificate> ParseCertificates(const std::string& pem) {
  const OwnedBio reader = Reader(pem);
  OwnedCertificate first;
  for (;;) {
    OwnedCertificate next(PEM_read_bio_X509(reader.get(), nullptr, NoPassword, nullptr));
    if (next == nullptr) break;
    if (first == nullptr) first = std::move(next);
  }
  const bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  ERR_clear_error();
  if (first == nullptr) return InvalidArgument("holds no PEM certificate");
  if (!at_end) return InvalidArgument("holds a certificate that does not parse");
  return first;
}

absl::StatusOr<OwnedKey> ParseKey(const std::string& pem) {
  OwnedKey key(PEM_read_bio_PrivateKey(Reader(pem).get(), nullptr, NoPassword, nullptr));
  ERR_clear_error();
  if (key == nullptr) return InvalidArgument("holds no PEM private key without a password");
  return key;
}

absl::Status CheckValidity(const X509& leaf, absl::Time now, absl::Time& not_after) {
  BANDANA_ASSIGN_OR_RETURN(const absl::Time not_before, TimeOf(X509_get0_notBefore(&leaf)));
  BANDANA_ASSIGN_OR_RETURN(not_after, TimeOf(X509_get0_notAfter(&leaf)));
  const auto text = [](absl::Time t) { return absl::FormatTime(t, absl::UTCTimeZone()); };
  if (now > not_after) return FailedPrecondition("has expired at ", text(not_after));
  if (now < not_before) return FailedPrecondition("is not valid before ", text(not_before));
  return absl::OkStatus();
}

// Path and message together, without repeating a path that the message names.
absl::Status About(const std::string& path, const absl::Status& status) {
  if (absl::StrContains(status.message(), path)) return status;
  return absl::Status(status.code(), absl::StrCat(path, " ", status.message()));
}

absl::Status LoadCertificate(const std::string& path, absl::Time now, TlsMaterial& material,
                             OwnedCertificate& leaf) {
  BANDANA_ASSIGN_OR_RETURN(material.certificate_pem, ReadTextFile(path, kPemBytesMax));
  BANDANA_ASSIGN_OR_RETURN(leaf, ParseCertificates(material.certificate_pem));
  return CheckValidity(*leaf, now, material.not_after);
}

absl::Status LoadKey(const std::string& path, const OwnedCertificate& leaf, TlsMaterial& material) {
  BANDANA_ASSIGN_OR_RETURN(material.private_key_pem, ReadPrivateFile(path, kPemBytesMax));
  BANDANA_ASSIGN_OR_RETURN(const OwnedKey key, ParseKey(material.private_key_pem));
  if (leaf == nullptr) return absl::OkStatus();
  const bool belongs = X509_check_private_key(leaf.get(), key.get()) == 1;
  ERR_clear_error();
  if (!belongs) return InvalidArgument("is not the key of the certificate");
  return absl::OkStatus();
}

absl::Status LoadClientCa(const std::string& path, TlsMaterial& material) {
  if (path.empty()) return absl::OkStatus();
  BANDANA_ASSIGN_OR_RETURN(material.client_ca_pem, ReadTextFile(path, kPemBytesMax));
  return ParseCertificates(material.client_ca_pem).status();
}

}  // namespace

TlsMaterial::~TlsMaterial() { OPENSSL_cleanse(private_key_pem.data(), private_key_pem.size()); }

bool LoadTls(const TlsFiles& files, absl::Time now, TlsMaterial& material, TlsMistake& mistake) {
  OwnedCertificate leaf;
  const auto fails = [&](TlsFile file, const std::string& path, const absl::Status& status) {
    if (status.ok()) return false;
    mistake = {file, About(path, status)};
    return true;
  };
  return !fails(TlsFile::kCertificate, files.certificate_file,
                LoadCertificate(files.certificate_file, now, material, leaf)) &&
         !fails(TlsFile::kPrivateKey, files.private_key_file,
                LoadKey(files.private_key_file, leaf, material)) &&
         !fails(TlsFile::kClientCa, files.client_ca_file,
                LoadClientCa(files.client_ca_file, material));
}

}  // namespace bandana::server
