// JSON read and written by the server beside protobuf: the verdict and the message are equal. The
// first byte says for which message.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "common/base/check.h"
#include "server/api/routes.h"
#include "server/service/transport/exchange.h"
#include "tests/support/json_mapping.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto rpcs = bandana::server::RoutedRpcs();
  const auto exchange = rpcs[data[0] / 2 % rpcs.size()]->make_exchange();
  const google::protobuf::Message& message =
      data[0] % 2 == 0 ? exchange->request() : exchange->response();
  const std::string difference = bandana::testing::JsonDifference(text, message);
  if (!difference.empty()) std::fprintf(stderr, "%s\n", difference.c_str());
  BANDANA_CHECK(difference.empty());
  return 0;
}
