// What all gRPC listeners of a server have in common.
#pragma once

#include <string>

namespace grpc {
class ServerBuilder;
}

namespace bandana::server {

// Bounds on connections: half-open ones are closed after ten seconds, idle ones after ten minutes,
// all after half an hour; silent peers are asked each minute and dropped when they do not answer;
// 128 streams a connection; kTransportBytesMax of memory, beyond which new connections are dropped
// (gRPC 1.51 cannot bound their number).
void SetListenerLimits(grpc::ServerBuilder& builder, int receive_bytes_max);

// `listen` with the port that was bound; unix:PATH stays as it is.
std::string WithPort(const std::string& listen, int port);

}  // namespace bandana::server
