// A bare HTTP client for the server's pages.
#pragma once

#include <string>
#include <vector>

namespace bandana::testing {

struct HttpResult {
  int status = 0;  // 0 = no answer
  std::string head;
  std::string body;
};

struct HttpSent {
  std::string method = "POST";
  std::string path;
  std::vector<std::string> headers = {};  // lines without their end; length and host are added
  std::string body = {};
  std::string host = {};  // "": the address
};
// One request and its answer, over a connection of its own. A chunked body that is cut: no answer.
HttpResult Send(const std::string& address, const HttpSent& sent);
// A header's value in an answer's head; empty: it is not there.
std::string HeaderOf(const HttpResult& result, const std::string& name);

// One HTTP/1.1 request.
HttpResult HttpRequest(const std::string& address, const std::string& path,
                       const std::string& method = "GET");

// A socket that is connected to an address of numbers, host:port; -1: it could not be.
int ConnectTo(const std::string& address);
// The answer to these bytes, until the peer closes the connection.
std::string Exchange(const std::string& address, const std::string& bytes);

}  // namespace bandana::testing
