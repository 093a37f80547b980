#include "common/channel/security_flags.h"

#include "absl/flags/flag.h"

ABSL_FLAG(std::string, tls_ca, "",
          "PEM file of the authorities that may have signed the server's certificate; empty: "
          "plaintext");
ABSL_FLAG(std::string, tls_cert, "", "PEM file of this client's certificate chain");
ABSL_FLAG(std::string, tls_key, "", "PEM file of this client's private key, mode 0600");
ABSL_FLAG(std::string, tls_server_name, "",
          "the name in the server's certificate, when it is not the target's host");
ABSL_FLAG(std::string, token_file, "", "file of a bearer token, mode 0600");

namespace bandana {

ChannelSecurity SecurityFromFlags() {
  return {.ca_file = absl::GetFlag(FLAGS_tls_ca),
          .certificate_file = absl::GetFlag(FLAGS_tls_cert),
          .private_key_file = absl::GetFlag(FLAGS_tls_key),
          .server_name = absl::GetFlag(FLAGS_tls_server_name),
          .token_file = absl::GetFlag(FLAGS_token_file)};
}

}  // namespace bandana
