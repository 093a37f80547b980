// The rpc methods that run on the queues, and what decodes and encodes them. Internal to
// GrpcServer.
#pragma once

#include <vector>

#include "bandana/v1/recommender.grpc.pb.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "server/service/transport/handlers.h"
#include "server/service/transport/transport.h"

namespace bandana::server {

// Recommender with every method raw: the transport sees bytes first, so that it can refuse by size,
// load or deadline without parsing, and name the message that does not parse.
using RawRecommender = v1::Recommender::WithRawMethod_GetModel<
    v1::Recommender::WithRawMethod_Select<v1::Recommender::WithRawMethod_BatchSelect<
        v1::Recommender::WithRawMethod_Report<v1::Recommender::WithRawMethod_Submit<
            v1::Recommender::WithRawMethod_GetPosterior<v1::Recommender::Service>>>>>>;
using HealthService = grpc::health::v1::Health::WithRawMethod_Check<
    grpc::health::v1::Health::WithAsyncMethod_Watch<grpc::health::v1::Health::Service>>;

struct QueueServices {
  RawRecommender recommender;
  HealthService health;
};

// What grpc.health.v1 answers for a service: the handlers' word, except that a draining server does
// not serve.
using ServingQuery = std::function<Serving(std::string_view)>;

// The ports of one queue. All arguments must outlive it.
std::vector<Port> MakePorts(QueueServices& services, Handlers& handlers,
                            const ServingQuery& serving);

}  // namespace bandana::server
