#include "tests/support/tls_caller.h"

#include <openssl/ssl.h>

#include <csignal>

#include "common/base/check.h"
#include "tests/support/raw_http2.h"

namespace bandana::testing {

TlsCaller::TlsCaller(const std::string& certificate_file, const std::string& private_key_file)
    : context_(SSL_CTX_new(TLS_client_method())) {
  std::signal(SIGPIPE, SIG_IGN);  // of writes to connections that are gone
  BANDANA_CHECK(
      SSL_CTX_use_certificate_file(context_, certificate_file.c_str(), SSL_FILETYPE_PEM) == 1);
  BANDANA_CHECK(SSL_CTX_use_PrivateKey_file(context_, private_key_file.c_str(), SSL_FILETYPE_PEM) ==
                1);
}

TlsCaller::~TlsCaller() { SSL_CTX_free(context_); }

// In TLS 1.3 the client's handshake has ended before the server sees the certificate: admitted is
// who is sent anything after it (of HTTP/2, SETTINGS).
bool TlsCaller::IsAdmitted(const std::string& address, const std::string& source) const {
  const RawSocket socket(address, source);
  if (!socket.connected()) return false;
  const std::unique_ptr<SSL, decltype(&SSL_free)> tls(SSL_new(context_), SSL_free);
  const unsigned char http2[] = {2, 'h', '2'};
  SSL_set_alpn_protos(tls.get(), http2, sizeof http2);
  SSL_set_fd(tls.get(), socket.descriptor());
  char byte = 0;
  return SSL_connect(tls.get()) == 1 && SSL_read(tls.get(), &byte, 1) == 1;
}

}  // namespace bandana::testing
