// Calls as gRPC-Web (gRPC's PROTOCOL-WEB): one HTTP request, and what came of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/core/calls.h"

namespace bandana::abi {

using Headers = std::vector<std::pair<std::string_view, std::string_view>>;

const char* PathOf(device::Method method);
// One frame with the message.
std::string WebRequest(std::string_view message);

struct WebAnswer {
  device::Answer answer;
  std::string message;  // empty unless the status is OK
};
// `http_status`: 0 no answer came, -1 none in time. Anything may be given: a failure is UNAVAILABLE
// where another attempt may help, else the code that gRPC has for it, or INTERNAL.
WebAnswer ReadWebAnswer(std::int32_t http_status, const Headers& headers, std::string_view body);

}  // namespace bandana::abi
