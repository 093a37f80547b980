// Which web pages may call (Fetch standard, CORS protocol).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/base/address.h"
#include "server/api/http_front.h"

namespace bandana::server {

class Origins {
 public:
  // `allowed`: origins, or "*" for all. `tls`: a browser has compared the name under which it asks
  // with the certificate's. Without, a name is the listener's own as IsOwnHost has it.
  Origins(std::vector<std::string> allowed, Address listen, bool tls);

  // Whether the call asks for a name that is the listener's own, or that of an allowed origin.
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
  bool IsOwn(std::string_view host) const;

  const std::vector<std::string> allowed_;
  const bool all_;
  const Address listen_;
  const bool tls_;
};

// Whether a text is an origin as browsers write it: `https://shop.example`, with a port where it is
// not the usual one. No path, no capital letters.
bool IsOrigin(std::string_view text);

}  // namespace bandana::server
