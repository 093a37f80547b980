// A bare HTTP client for the server's pages.
#pragma once

#include <string>

namespace bandana::testing {

struct HttpResult {
  int status = 0;  // 0 = no answer
  std::string head;
  std::string body;
};

// One HTTP/1.1 request to an IPv4 address:port.
HttpResult HttpRequest(const std::string& address, const std::string& path,
                       const std::string& method = "GET");

}  // namespace bandana::testing
