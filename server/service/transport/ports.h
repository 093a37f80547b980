// The requests of a completion queue to gRPC: the rpcs of the table, as bytes. Internal to
// GrpcServer.
#pragma once

#include <string_view>
#include <vector>

#include "bandana/v1/recommender.grpc.pb.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "server/service/transport/rpcs.h"
#include "server/service/transport/transport.h"

namespace bandana::server {

// Where an rpc stands in its service, as generated code counts. Aborts when no .proto has it.
int MethodIndex(const Rpc& rpc);

// A generated service whose rpcs on the queues are raw: the transport sees bytes first, so that it
// can refuse by size, load or deadline without parsing, and name the message that does not parse.
template <typename Api, typename Base = typename Api::Service>
class RawService final : public Base {
 public:
  RawService() {
    for (const Rpc& rpc : QueueRpcs()) {
      if (Has(rpc)) this->MarkMethodRaw(MethodIndex(rpc));
    }
  }
  static bool Has(const Rpc& rpc) {
    return rpc.rule.rpc.substr(0, rpc.rule.rpc.find('/')) == Api::service_full_name();
  }
  // Waits for a call of the method, one of the raw ones.
  void Request(int method, grpc::ServerContext* context, grpc::ByteBuffer* bytes,
               Responder* responder, grpc::ServerCompletionQueue* cq, void* tag) {
    this->RequestAsyncUnary(method, context, bytes, responder, cq, cq, tag);
  }
};

using RawRecommender = RawService<v1::Recommender>;
using HealthService =
    RawService<grpc::health::v1::Health,
               grpc::health::v1::Health::WithAsyncMethod_Watch<grpc::health::v1::Health::Service>>;

struct QueueServices {
  RawRecommender recommender;
  HealthService health;
};

// The ports of one queue. `services` must outlive it.
std::vector<Port> MakePorts(QueueServices& services);

}  // namespace bandana::server
