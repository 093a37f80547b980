#include "server/service/transport/ports.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <string>
#include <utility>

#include "common/base/check.h"
#include "server/service/transport/exchange.h"

namespace bandana::server {
namespace {

template <typename Service>
auto Requester(Service& service, const Rpc& rpc) {
  return [&service, method = MethodIndex(rpc)](auto... arguments) {
    service.Request(method, arguments...);
  };
}

}  // namespace

int MethodIndex(const Rpc& rpc) {
  std::string name(rpc.rule.rpc);
  std::replace(name.begin(), name.end(), '/', '.');
  const auto* const method =
      google::protobuf::DescriptorPool::generated_pool()->FindMethodByName(name);
  BANDANA_CHECK(method != nullptr);
  return method->index();
}

std::vector<Port> MakePorts(QueueServices& services) {
  std::vector<Port> ports;
  for (const Rpc& rpc : QueueRpcs()) {
    Port port{rpc};
    port.request = RawRecommender::Has(rpc) ? PortRequest(Requester(services.recommender, rpc))
                                            : PortRequest(Requester(services.health, rpc));
    port.reusable = rpc.make_exchange();
    ports.push_back(std::move(port));
  }
  return ports;
}

}  // namespace bandana::server
