// A model's message read by hand and by protobuf: the same verdict, and the same policy hash.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "common/design/wire_messages.h"
#include "common/promise/mechanism.h"
#include "common/promise/public_spec.h"
#include "tests/support/fake_recommender.h"
#include "tests/support/feature_schemas.h"
#include "tests/support/mechanisms.h"
#include "tests/support/read_by_reflection.h"

namespace bandana::testing {
namespace {

// Policies of every form: windows, counters, contexts, schemas.
std::vector<std::string> Policies() {
  PublicSpec local = testing::WindowSpec(absl::Minutes(10), 0.5);
  local.features = testing::MakeSchema(testing::kShopSchema);
  local.dimension = local.features->dimension();
  std::vector<std::string> policies;
  for (const PublicSpec& spec : {local, testing::CounterModelSpec(), testing::ContextModelSpec(),
                                 testing::ContextModelSpec(MechanismId::kJointGaussian)}) {
    policies.push_back(ModelMessage(spec).SerializeAsString());
  }
  return policies;
}

TEST(PublicSpecPropertyTest, DamagedMessagesAreReadAsProtobufReadsThem) {
  std::mt19937_64 random(7);
  const std::vector<std::string> policies = Policies();
  int accepted = 0;
  for (int run = 0; run < 20'000; ++run) {
    std::string bytes = policies[random() % policies.size()];
    for (std::uint64_t i = random() % 3; i > 0 && !bytes.empty(); --i) {
      const std::size_t at = random() % bytes.size();
      switch (random() % 4) {
        case 0:
          bytes[at] = static_cast<char>(random());
          break;
        case 1:
          bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
          break;
        case 2:
          bytes.resize(at);
          break;
        default:
          bytes.insert(at, 1, static_cast<char>(random()));
      }
    }
    v1::GetModelResponse message;
    ASSERT_TRUE(AgreesWithProtobuf(bytes, message));
    wire::Model model;
    if (!wire::Merge(bytes, model)) continue;  // refused, as WireReader refuses it
    ASSERT_TRUE(message.ParseFromString(bytes));
    if (message.dimension() > 64) continue;  // large designs take their time
    message.DiscardUnknownFields();
    const auto by_hand = ParsePublicSpec(bytes);
    const auto by_protobuf = ParsePublicSpec(message.SerializeAsString());
    ASSERT_EQ(by_hand.status(), by_protobuf.status());
    if (!by_hand.ok()) continue;
    ++accepted;
    ASSERT_EQ(by_hand->PolicyHash(), by_protobuf->PolicyHash());
    ASSERT_EQ(ToProto(*by_hand).SerializeAsString(), ToProto(*by_protobuf).SerializeAsString());
  }
  EXPECT_GT(accepted, 5000);
}

TEST(PublicSpecPropertyTest, RefusalsByHandAreThoseOfTheWire) {
  for (const std::string& policy : Policies()) {
    for (std::size_t size = 0; size < policy.size(); ++size) {
      const std::string_view cut = std::string_view(policy).substr(0, size);
      v1::GetModelResponse message;
      wire::Model model;
      ASSERT_EQ(wire::Merge(cut, model), message.ParseFromString(std::string(cut))) << size;
    }
  }
}

}  // namespace
}  // namespace bandana::testing
