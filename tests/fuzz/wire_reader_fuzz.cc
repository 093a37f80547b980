// The wire form of answers to a device: WireReader and protobuf read the same of any bytes. The
// first byte says which message.
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "bandana/v1/recommender.pb.h"
#include "common/base/check.h"
#include "tests/support/read_by_reflection.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using bandana::testing::AgreesWithProtobuf;
  namespace v1 = bandana::v1;
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  // In the order of responses_fuzz, whose inputs are inputs here.
  const google::protobuf::Message* const messages[] = {
      &v1::SubmitResponse::default_instance(), &v1::GetPosteriorResponse::default_instance(),
      &v1::SelectResponse::default_instance(), &v1::GetArmEffectsResponse::default_instance()};
  BANDANA_CHECK(AgreesWithProtobuf(bytes, *messages[data[0] % std::size(messages)]));
  return 0;
}
