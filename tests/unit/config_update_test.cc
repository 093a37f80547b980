// How UpdateModel changes a configuration.
#include "server/service/admin/config_update.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "google/protobuf/text_format.h"
#include "google/protobuf/util/message_differencer.h"
#include "tests/support/status_matchers.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;
using google::protobuf::util::MessageDifferencer;

v1::ModelConfig Config(const std::string& text) {
  v1::ModelConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config));
  return config;
}

constexpr char kCurrent[] =
    "name: 'm' dimension: 2 mode: NON_PRIVATE token_lifetime { seconds: 60 nanos: 5 } "
    "exploration { confidence { failure_probability: 0.1 theta_l2_max: 2 } } goblin { "
    "laplacian_weight: 2 users { ids: ['a', 'b'] } }";

void ExpectUpdate(const std::string& change, std::vector<std::string> mask,
                  const std::string& expected) {
  v1::UpdateModelRequest request;
  *request.mutable_config() = Config(change);
  for (const std::string& path : mask) request.mutable_update_mask()->add_paths(path);
  const auto updated = UpdatedConfig(Config(kCurrent), request);
  ASSERT_THAT(updated, IsOk());
  EXPECT_TRUE(MessageDifferencer::Equals(*updated, Config(expected)))
      << updated->ShortDebugString() << "\n"
      << expected;
}

TEST(ConfigUpdate, TakesTheFieldsThatAreSet) {
  ExpectUpdate(
      "name: 'm' exploration { confidence { theta_l2_max: 1 } } token_lifetime { seconds: 9 }", {},
      "name: 'm' dimension: 2 mode: NON_PRIVATE token_lifetime { seconds: 9 } "
      "exploration { confidence { failure_probability: 0.1 theta_l2_max: 1 } } "
      "goblin { laplacian_weight: 2 users { ids: ['a', 'b'] } }");
  // Lists are wholes; what is beside them stays.
  ExpectUpdate("name: 'm' goblin { users { ids: 'c' } }", {},
               "name: 'm' dimension: 2 mode: NON_PRIVATE token_lifetime { seconds: 60 nanos: 5 } "
               "exploration { confidence { failure_probability: 0.1 theta_l2_max: 2 } } "
               "goblin { laplacian_weight: 2 users { ids: 'c' } }");
  ExpectUpdate("name: 'm'", {}, kCurrent);
}

TEST(ConfigUpdate, AMaskAlsoResets) {
  ExpectUpdate("name: 'm'", {"exploration.confidence.theta_l2_max", "token_lifetime"},
               "name: 'm' dimension: 2 mode: NON_PRIVATE "
               "exploration { confidence { failure_probability: 0.1 } } "
               "goblin { laplacian_weight: 2 users { ids: ['a', 'b'] } }");
}

TEST(ConfigUpdate, SaysWhichPathIsWrong) {
  v1::UpdateModelRequest request;
  request.mutable_update_mask()->add_paths("exploration.alhpa");
  EXPECT_THAT(UpdatedConfig(Config(kCurrent), request),
              StatusIs(absl::StatusCode::kInvalidArgument, "`exploration.alhpa` is no field"));
  request.mutable_update_mask()->set_paths(0, "name");
  EXPECT_THAT(UpdatedConfig(Config(kCurrent), request),
              StatusIs(absl::StatusCode::kInvalidArgument, "keeps its name"));
}

}  // namespace
}  // namespace bandana::server
