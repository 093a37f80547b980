// --tls_ca, --tls_cert, --tls_key, --tls_server_name and --token_file of programs that call a
// server.
#pragma once

#include "common/channel/channel.h"

namespace bandana {

// For usage texts: one line a flag.
inline constexpr char kSecurityFlagsHelp[] =
    R"(  --tls_ca FILE           PEM authorities that may have signed the server's certificate; without it: plaintext
  --tls_cert, --tls_key   PEM files of this client's certificate chain and private key
  --tls_server_name NAME  the name in the server's certificate, when it is not the target's host
  --token_file FILE       bearer token; never an argument, which everybody on the machine can read
)";

// The settings of the parsed command line.
ChannelSecurity SecurityFromFlags();

}  // namespace bandana
