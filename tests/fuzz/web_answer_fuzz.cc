// A server's answer as gRPC-Web: any status, headers and bytes.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "client/abi/src/web_call.h"
#include "common/base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using bandana::abi::Headers;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  constexpr std::int32_t kStatuses[] = {200, 200, 200, 0, -1, 401, 503, 777};
  const std::int32_t status = kStatuses[bytes.empty() ? 0 : data[0] % 8];
  const std::string_view rest = bytes.substr(bytes.empty() ? 0 : 1);
  const std::string_view value = rest.substr(0, rest.find('\n'));
  Headers headers;
  if (!bytes.empty() && data[0] >= 128) {
    headers = {{"grpc-status", value}, {"grpc-message", value}, {"grpc-retry-pushback-ms", value}};
  }
  const bandana::abi::WebAnswer answer = bandana::abi::ReadWebAnswer(status, headers, rest);
  BANDANA_CHECK(answer.answer.status.ok() || answer.message.empty());
  BANDANA_CHECK(!answer.answer.status.ok() || status == 200);
  // A message that a request carries is read back.
  const std::string framed = bandana::abi::WebRequest(rest);
  const std::string_view trailers("\x80\0\0\0\x10grpc-status: 0\r\n", 21);
  const auto whole = bandana::abi::ReadWebAnswer(200, {}, framed + std::string(trailers));
  BANDANA_CHECK(whole.answer.status.ok());
  BANDANA_CHECK(whole.message == rest);
  return 0;
}
