// A server's certificate, key and client authorities, read from files and checked as a whole.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace bandana::server {

struct TlsFiles {
  std::string certificate_file;  // PEM, the leaf first
  std::string private_key_file;  // PEM, private (ReadPrivateFile)
  std::string client_ca_file;    // PEM; empty: clients have no certificates
};

// Which file a mistake is about.
enum class TlsFile { kCertificate, kPrivateKey, kClientCa };

struct TlsMistake {
  TlsFile file{};
  absl::Status status;
};

// The content of the files. The key is erased on destruction. Not copyable.
struct TlsMaterial {
  TlsMaterial() = default;
  ~TlsMaterial();
  TlsMaterial(TlsMaterial&& other) noexcept = default;
  TlsMaterial& operator=(TlsMaterial&&) = delete;

  std::string certificate_pem;
  std::string private_key_pem;
  std::string client_ca_pem;
  absl::Time not_after;  // end of the leaf's validity
};

// Reads the files, and accepts them only if a server could go on with them: certificates parse, the
// key belongs to the leaf, the leaf is valid at `now`. On failure `mistake` says why; its status:
//   those of ReadFile and ReadPrivateFile;
//   INVALID_ARGUMENT     no PEM of the kind; a key that is encrypted or is not the certificate's
//   FAILED_PRECONDITION  the leaf has expired, or is not valid yet
// No message quotes what the files hold.
bool LoadTls(const TlsFiles& files, absl::Time now, TlsMaterial& material, TlsMistake& mistake);

}  // namespace bandana::server
