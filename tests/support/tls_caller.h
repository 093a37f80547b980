// A TLS client by hand: shows a certificate, and tells whether the server goes on with it.
#pragma once

#include <memory>
#include <string>

struct ssl_ctx_st;

namespace bandana::testing {

// Threads: safe.
class TlsCaller {
 public:
  // PEM files. Aborts the test program when they do not fit together.
  TlsCaller(const std::string& certificate_file, const std::string& private_key_file);
  ~TlsCaller();

  // Connects to 127.0.0.1:PORT from `source` (see RawSocket), waits for what comes after the
  // handshake, and closes. The server itself is not checked.
  bool IsAdmitted(const std::string& address, const std::string& source = "") const;

 private:
  ssl_ctx_st* const context_;
};

}  // namespace bandana::testing
