// Which web pages may call (Fetch standard, CORS protocol).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server/api/http_front.h"

namespace bandana::server {

class Origins {
 public:
  // `allowed`: origins, or "*" for all. `loopback`: the listener is on a loopback address. Then a
  // page is the listener's own only if it was asked under such a name: any other name may be one
  // that somebody has let point here.
  Origins(std::vector<std::string> allowed, bool loopback);

  // Whether the call asks for a name that is the listener's. On a loopback address: a loopback name
  // or address, or the name of an allowed origin. A page whose own name was let point here asks
  // under that name, and a GET of it has no origin.
  bool AllowsHost(const HttpCall& call) const;
  // Whether the call comes from no page, or from one that may call. A browser sends calls of any
  // page, and asks only afterwards who may read the answer.
  bool Allows(const HttpCall& call) const;
  // The question of a browser before a call.
  static bool IsPreflight(const HttpCall& call);
  HttpAnswer AnswerPreflight(const HttpCall& call) const;
  // Lets the page read the answer. Requires Allows.
  void Open(const HttpCall& call, HttpAnswer& answer) const;

 private:
  const std::vector<std::string> allowed_;
  const bool all_;
  const bool loopback_;
};

// Whether a text is an origin as browsers write it: `https://shop.example`, with a port where it is
// not the usual one. No path, no capital letters.
bool IsOrigin(std::string_view text);

}  // namespace bandana::server
