// The server's reader and writer of JSON mean what protobuf's do, over random documents for every
// message that has a path. BANDANA_DOCUMENTS asks for more of them, BANDANA_SEED for others.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "bandana/v1/admin.pb.h"
#include "google/protobuf/struct.pb.h"
#include "server/api/json_call.h"
#include "server/api/routes.h"
#include "server/service/transport/exchange.h"
#include "tests/support/json_mapping.h"
#include "tests/support/odd_json.h"

namespace bandana::testing {
namespace {

std::uint64_t Given(const char* variable, std::uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  std::uint64_t value = 0;
  return text != nullptr && absl::SimpleAtoi(text, &value) ? value : otherwise;
}

std::vector<std::unique_ptr<google::protobuf::Message>> Prototypes() {
  std::vector<std::unique_ptr<google::protobuf::Message>> all;
  for (const server::Rpc* rpc : server::RoutedRpcs()) {
    const auto exchange = rpc->make_exchange();
    all.emplace_back(exchange->request().New());
    all.emplace_back(exchange->response().New());
  }
  const auto& admin = *v1::CreateModelRequest::descriptor()->file();
  for (int i = 0; i < admin.message_type_count(); ++i) {
    all.emplace_back(google::protobuf::MessageFactory::generated_factory()
                         ->GetPrototype(admin.message_type(i))
                         ->New());
  }
  all.emplace_back(new google::protobuf::Struct);
  // Those that hold most.
  for (int i = 0; i < 12; ++i) all.emplace_back(new v1::SelectRequest);
  return all;
}

TEST(JsonMappingProperty, DocumentsMeanWhatProtobufReads) {
  const auto prototypes = Prototypes();
  const std::uint64_t seed = Given("BANDANA_SEED", 1);
  TestRng rng(seed);
  int differences = 0;
  std::uint64_t read = 0;
  const std::uint64_t documents = Given("BANDANA_DOCUMENTS", 20'000);
  for (std::uint64_t i = 0; i < documents; ++i) {
    const auto& prototype = *prototypes[i % prototypes.size()];
    const std::string text = OddJson(*prototype.GetDescriptor(), rng);
    const std::unique_ptr<google::protobuf::Message> message(prototype.New());
    if (server::FromJson(text, *message).ok()) ++read;
    const std::string difference = JsonDifference(text, prototype);
    if (difference.empty()) continue;
    ADD_FAILURE() << "--seed=" << seed << " document " << i << ": " << difference;
    if (++differences == 20) break;
  }
  RecordProperty("read", static_cast<int>(read));
  // Both verdicts are common enough to be compared.
  EXPECT_GT(read, documents / 5);
  EXPECT_LT(read, documents - documents / 5);
}

}  // namespace
}  // namespace bandana::testing
