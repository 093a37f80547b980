#include "tests/support/test_certificates.h"

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include "absl/strings/str_cat.h"
#include "common/base/check.h"
#include "common/base/file.h"

namespace bandana::testing {
namespace {

using Key = std::shared_ptr<EVP_PKEY>;
using Certificate = std::shared_ptr<X509>;

Key NewKey() { return Key(EVP_EC_gen("P-256"), EVP_PKEY_free); }

template <typename Write>
std::string ToPem(Write write) {
  const std::shared_ptr<BIO> bio(BIO_new(BIO_s_mem()), BIO_free);
  BANDANA_CHECK(write(bio.get()) == 1);
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return std::string(data, static_cast<std::size_t>(size));
}
std::string ToPem(const Certificate& certificate) {
  return ToPem([&](BIO* bio) { return PEM_write_bio_X509(bio, certificate.get()); });
}
std::string ToPem(const Key& key) {
  return ToPem([&](BIO* bio) {
    return PEM_write_bio_PrivateKey(bio, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  });
}

void AddExtension(X509* certificate, int nid, const std::string& value) {
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, nid, value.c_str());
  BANDANA_CHECK(extension != nullptr);
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

Certificate Unsigned(const CertificateRequest& request, const Key& key) {
  const Certificate certificate(X509_new(), X509_free);
  X509_set_version(certificate.get(), 2);
  std::uint64_t serial = 0;
  BANDANA_CHECK(RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial) == 1);
  ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate.get()), serial >> 1);
  ASN1_TIME_set(X509_getm_notBefore(certificate.get()), absl::ToTimeT(request.not_before));
  ASN1_TIME_set(X509_getm_notAfter(certificate.get()), absl::ToTimeT(request.not_after));
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate.get()), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(request.common_name.data()),
                             static_cast<int>(request.common_name.size()), -1, 0);
  X509_set_pubkey(certificate.get(), key.get());
  return certificate;
}

}  // namespace

struct TestAuthority::Body {
  Key key;
  Certificate certificate;
};

TestAuthority::TestAuthority(const std::string& common_name) : body_(std::make_unique<Body>()) {
  body_->key = NewKey();
  body_->certificate = Unsigned({.common_name = common_name}, body_->key);
  X509* const certificate = body_->certificate.get();
  X509_set_issuer_name(certificate, X509_get_subject_name(certificate));
  AddExtension(certificate, NID_basic_constraints, "critical,CA:TRUE");
  AddExtension(certificate, NID_key_usage, "critical,keyCertSign,cRLSign");
  BANDANA_CHECK(X509_sign(certificate, body_->key.get(), EVP_sha256()) > 0);
  certificate_ = ToPem(body_->certificate);
}

TestAuthority::~TestAuthority() = default;

PemPair TestAuthority::Issue(const CertificateRequest& request) const {
  const Key key = NewKey();
  const Certificate certificate = Unsigned(request, key);
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(body_->certificate.get()));
  AddExtension(certificate.get(), NID_basic_constraints, "critical,CA:FALSE");
  std::string names;
  for (const std::string& name : request.dns_names) {
    absl::StrAppend(&names, names.empty() ? "" : ",", "DNS:", name);
  }
  if (!names.empty()) AddExtension(certificate.get(), NID_subject_alt_name, names);
  BANDANA_CHECK(X509_sign(certificate.get(), body_->key.get(), EVP_sha256()) > 0);
  return {.certificate = ToPem(certificate), .private_key = ToPem(key)};
}

void WritePair(const std::string& folder, const std::string& name, const PemPair& pair) {
  BANDANA_CHECK(WriteFileDurably(ResolvePath(name + ".key", folder), pair.private_key, 0600).ok());
  BANDANA_CHECK(WriteFileDurably(ResolvePath(name + ".pem", folder), pair.certificate, 0644).ok());
}

}  // namespace bandana::testing
