// Bodies of gRPC-Web, binary and text: the first byte says which.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "bandana/v1/recommender.pb.h"
#include "common/base/check.h"
#include "server/api/grpc_web.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bandana::server;  // NOLINT
  if (size == 0) return 0;
  const std::string_view body(reinterpret_cast<const char*>(data) + 1, size - 1);
  const WebForm form = data[0] % 2 == 0 ? WebForm::kBinary : WebForm::kText;
  (void)WebFormOf(body);
  const auto message = ReadWebMessage(body, form);
  if (!message.ok()) return 0;
  BANDANA_CHECK(message->size() <= body.size());
  // An answer can be read back in its form, up to the trailers behind.
  bandana::v1::SelectRequest request;
  (void)request.ParseFromString(*message);
  const HttpAnswer answer = WebAnswer(*message, WebForm::kBinary);
  const std::string_view first = std::string_view(answer.body).substr(0, 5 + message->size());
  BANDANA_CHECK(*ReadWebMessage(first, WebForm::kBinary) == *message);
  return 0;
}
