// grpc.reflection.v1 beside v1alpha, which is all that gRPC 1.51 has: tools of today ask for v1
// first.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace grpc {
class Service;
}

namespace bandana::server {

// Answers from the descriptors of this program. `services`: full names of those that the listener
// has. At most 16 streams are open at a time; those beyond are RESOURCE_EXHAUSTED. Threads: safe.
std::unique_ptr<grpc::Service> MakeReflectionService(std::vector<std::string> services);

}  // namespace bandana::server
