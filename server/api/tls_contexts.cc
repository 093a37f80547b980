#include "server/api/tls_contexts.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <string_view>
#include <utility>

#include "common/base/free_with.h"

namespace bandana::server {
namespace {

namespace ssl = boost::asio::ssl;
using Error = boost::system::error_code;

boost::asio::const_buffer BufferOf(const std::string& pem) { return {pem.data(), pem.size()}; }

// Browsers offer h2 as well; the listener speaks HTTP/1.1.
int ChooseProtocol(SSL*, const unsigned char** out, unsigned char* out_size,
                   const unsigned char* offered, unsigned int offered_size, void*) {
  static constexpr unsigned char kHttp11[] = "\x08http/1.1";
  unsigned char* chosen = nullptr;
  if (SSL_select_next_proto(&chosen, out_size, kHttp11, sizeof kHttp11 - 1, offered,
                            offered_size) != OPENSSL_NPN_NEGOTIATED) {
    return SSL_TLSEXT_ERR_NOACK;
  }
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

std::shared_ptr<ssl::context> MakeContext(const TlsMaterial& material, bool require_client) {
  auto context = std::make_shared<ssl::context>(ssl::context::tls_server);
  SSL_CTX* const native = context->native_handle();
  SSL_CTX_set_min_proto_version(native, TLS1_2_VERSION);
  // Each session is a handshake: certificates that are not trusted any more are not remembered.
  SSL_CTX_set_session_cache_mode(native, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_options(native, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_alpn_select_cb(native, ChooseProtocol, nullptr);
  Error error;
  context->use_certificate_chain(BufferOf(material.certificate_pem), error);
  if (!error)
    context->use_private_key(BufferOf(material.private_key_pem), ssl::context::pem, error);
  if (!error && !material.client_ca_pem.empty()) {
    context->add_certificate_authority(BufferOf(material.client_ca_pem), error);
    SSL_CTX_set_verify(
        native, SSL_VERIFY_PEER | (require_client ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0), nullptr);
  }
  ERR_clear_error();
  return error ? nullptr : context;
}

std::string_view TextOf(const ASN1_STRING* text) {
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
          static_cast<std::size_t>(ASN1_STRING_length(text))};
}

}  // namespace

std::shared_ptr<ssl::context> TlsContexts::Newest() {
  std::shared_ptr<const TlsMaterial> material = tls_->material();
  if (material == made_of_) return context_;
  auto context = MakeContext(*material, tls_->options().require_client_certificate);
  made_of_ = std::move(material);
  if (context != nullptr) context_ = std::move(context);
  return context_;
}

std::vector<std::string> VerifiedSubjects(SSL* connection) {
  std::vector<std::string> subjects;
  const std::unique_ptr<X509, FreeWith<X509_free>> certificate(
      SSL_get1_peer_certificate(connection));
  if (certificate == nullptr || SSL_get_verify_result(connection) != X509_V_OK) return subjects;
  const X509_NAME* const name = X509_get_subject_name(certificate.get());
  for (int at = -1; (at = X509_NAME_get_index_by_NID(name, NID_commonName, at)) >= 0;) {
    subjects.emplace_back(TextOf(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, at))));
  }
  const std::unique_ptr<GENERAL_NAMES, FreeWith<GENERAL_NAMES_free>> names(
      static_cast<GENERAL_NAMES*>(
          X509_get_ext_d2i(certificate.get(), NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; names != nullptr && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* const one = sk_GENERAL_NAME_value(names.get(), i);
    if (one->type == GEN_DNS) subjects.emplace_back(TextOf(one->d.dNSName));
  }
  return subjects;
}

}  // namespace bandana::server
