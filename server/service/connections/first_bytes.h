// Which protocol a connection speaks, by the bytes that it sends first: one address for gRPC and
// for HTTP/1.1.
#pragma once

#include <optional>
#include <string_view>

namespace bandana::server {

enum class WireProtocol { kHttp1, kHttp2 };

// Nothing: more bytes are needed. Without TLS HTTP/2 begins with its preface (RFC 9113, 3.4). With
// TLS the list of protocols that a client offers decides (RFC 7301): gRPC offers h2 alone; whoever
// offers http/1.1, or no list, gets HTTP/1.1. Bytes that are no ClientHello, or one in several
// records, count as HTTP/2: gRPC's handshake refuses the former.
std::optional<WireProtocol> ProtocolOf(std::string_view bytes, bool tls);

}  // namespace bandana::server
