// Certificates made on the spot. No key of a test is ever stored in the project.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace bandana::testing {

struct PemPair {
  std::string certificate;
  std::string private_key;
};

struct CertificateRequest {
  std::string common_name;
  std::vector<std::string> dns_names;
  absl::Time not_before = absl::Now() - absl::Hours(1);
  absl::Time not_after = absl::Now() + absl::Hours(1);
};

// A certificate authority with a key of its own (P-256). Aborts the test program when OpenSSL
// fails.
class TestAuthority {
 public:
  explicit TestAuthority(const std::string& common_name);
  ~TestAuthority();

  const std::string& certificate() const { return certificate_; }  // PEM
  // A leaf for servers and clients alike, with a fresh key.
  PemPair Issue(const CertificateRequest& request) const;

 private:
  struct Body;
  const std::unique_ptr<Body> body_;
  std::string certificate_;
};

// Writes NAME.pem and NAME.key (mode 0600) into the folder, each by a rename.
void WritePair(const std::string& folder, const std::string& name, const PemPair& pair);

}  // namespace bandana::testing
