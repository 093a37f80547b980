// The paths of the HTTP API. Those of models follow from the table of rpcs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/service/transport/rpcs.h"

namespace bandana::server {

// The rpc and the names that a path stands for.
struct Route {
  const Rpc* rpc = nullptr;
  std::string model;        // of the path
  std::string_view method;  // of HTTP: GET or POST
};

// `GET /v1/models/NAME` is GetModel, `POST /v1/models/NAME:VERB` the rpc with this verb. Nothing:
// no such path.
std::optional<Route> FindRoute(std::string_view path);

// The parts of `/v1/models/MODEL` and `/v1/models/MODEL:VERB`.
struct ModelPath {
  std::string model;
  std::string verb;  // empty: none
};
// `path`: Unescaped. Nothing: it is no such path.
std::optional<ModelPath> ModelPathOf(std::string_view path);

// The verb of an rpc of Recommender: its name without `Get`, in lower camel case (select,
// batchSelect, posterior). Empty for GetModel, and for rpcs that the API does not have.
std::string VerbOf(const Rpc& rpc);
// The rpcs that have a path here.
std::vector<const Rpc*> RoutedRpcs();

// The rpc of gRPC's own path, `/package.Service/Method`; null: none that the API has.
const Rpc* FindGrpcWebRpc(std::string_view path);

// The text with %XX replaced. Nothing when that is malformed.
std::optional<std::string> Unescaped(std::string_view text);

}  // namespace bandana::server
