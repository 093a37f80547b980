// OpenSSL's view of a certificate that may change while the server runs.
#pragma once

#include <boost/asio/ssl/context.hpp>
#include <memory>
#include <string>
#include <vector>

#include "server/service/tls/tls_credentials.h"

namespace bandana::server {

// Threads: not safe.
class TlsContexts {
 public:
  // `tls` null: Newest is not called.
  explicit TlsContexts(std::shared_ptr<TlsReloader> tls) : tls_(std::move(tls)) {}

  // For a handshake that begins now: TLS 1.2 or newer, the files that the reloader has accepted
  // last. Null: OpenSSL could not take them, and took none before.
  std::shared_ptr<boost::asio::ssl::context> Newest();

 private:
  const std::shared_ptr<TlsReloader> tls_;
  std::shared_ptr<const TlsMaterial> made_of_;
  std::shared_ptr<boost::asio::ssl::context> context_;
};

// Common name and DNS alternative names of the peer's certificate; none without a verified one.
std::vector<std::string> VerifiedSubjects(SSL* connection);

}  // namespace bandana::server
