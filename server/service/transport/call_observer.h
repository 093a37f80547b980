// What the transport tells about the calls it answered. Metrics implement it.
#pragma once

#include <string>
#include <string_view>

#include "absl/time/time.h"

namespace bandana::server {

// The calls of the queue transport. The last one is grpc.health.v1; the others are Recommender's.
enum class Method {
  kGetModel,
  kSelect,
  kBatchSelect,
  kReport,
  kSubmit,
  kGetPosterior,
  kHealthCheck
};
inline constexpr int kMethods = 7;

// The rpc's name, as on the wire.
constexpr std::string_view MethodName(Method method) {
  constexpr std::string_view kNames[kMethods] = {
      "GetModel", "Select", "BatchSelect", "Report", "Submit", "GetPosterior", "Check"};
  return kNames[static_cast<int>(method)];
}

// package.Service/Method, as access rules name it.
inline std::string RpcName(Method method) {
  const std::string service =
      method == Method::kHealthCheck ? "grpc.health.v1.Health/" : "bandana.v1.Recommender/";
  return service + std::string(MethodName(method));
}

// What waits together, and is served in this order.
enum class CallClass { kSelect, kReport };
inline constexpr int kCallClasses = 2;
constexpr CallClass ClassOf(Method method) {
  return method == Method::kReport || method == Method::kSubmit ? CallClass::kReport
                                                                : CallClass::kSelect;
}

// Threads: OnCall is called by the queue threads and, for Report and Submit, by the thread that
// completes them; it must be safe and must not block.
class CallObserver {
 public:
  virtual ~CallObserver() = default;
  // Once a call that is not refused on arrival, when its work begins: how long it waited.
  virtual void OnStart(Method method, absl::Duration waited) = 0;
  // Once a call, when its answer is handed to gRPC. `status_code` is a grpc::StatusCode; `duration`
  // runs from the moment the transport took the call in, waiting included.
  virtual void OnCall(Method method, int status_code, absl::Duration duration) = 0;
};

}  // namespace bandana::server
