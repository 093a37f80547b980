// WireReader and protobuf read the same of any bytes: whole messages, and damaged ones.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>
#include <string>

#include "bandana/v1/recommender.pb.h"
#include "tests/support/read_by_reflection.h"

namespace bandana::testing {
namespace {

constexpr int kRuns = 20'000;

class WireReaderPropertyTest : public ::testing::Test {
 protected:
  std::uint64_t Number() { return random_() >> (random_() % 64); }
  // Any bits: infinities, NaN, -0 and subnormal numbers as well.
  double Real() {
    const std::uint64_t bits = random_() % 4 == 0 ? 0 : random_();
    double real = 0;
    std::memcpy(&real, &bits, sizeof real);
    return real;
  }
  std::string Name() { return std::string(random_() % 200, static_cast<char>(random_() % 128)); }
  bool Half() { return random_() % 2 == 0; }

  v1::GetPosteriorResponse Posterior() {
    v1::GetPosteriorResponse message;
    message.set_not_modified(Half());
    message.set_version(Number());
    message.set_first_node(static_cast<std::uint32_t>(Number()));
    for (std::uint64_t i = random_() % 20; i > 0; --i) message.add_means(Real());
    for (std::uint64_t i = random_() % 40; i > 0; --i) message.add_alphas(Real());
    message.set_constant_mean(Real());
    return message;
  }
  v1::GetArmEffectsResponse Effects() {
    v1::GetArmEffectsResponse message;
    for (std::uint64_t i = random_() % 20; i > 0; --i) {
      message.add_ids(static_cast<std::uint32_t>(Number()));
      message.add_means(static_cast<float>(random_()));
    }
    message.set_next_arm(Number());
    message.set_unknown_variance(Real());
    return message;
  }
  v1::SelectResponse Selection() {
    v1::SelectResponse message;
    for (std::uint64_t i = random_() % 20; i > 0; --i) {
      message.add_positions(static_cast<std::uint32_t>(Number()));
      message.add_arm_ids(static_cast<std::uint32_t>(Number()));
      message.add_arm_names(Name());
      *message.add_slot_tokens() = std::string("\xff\0\x80", 3);
    }
    message.set_token(Name());
    v1::ScorePart& part = *message.add_explanations()->add_parts();
    part.set_name(Half() ? "\xe2\x82\xac" : Name());
    part.set_width(Real());
    return message;
  }
  v1::GetModelResponse Model() {
    v1::GetModelResponse message;
    message.set_model(Name());
    message.set_mode(static_cast<v1::Mode>(static_cast<std::int32_t>(Number())));
    message.set_reward_binary(Half());
    message.mutable_token_lifetime()->set_seconds(static_cast<std::int64_t>(random_()));
    message.mutable_token_lifetime()->set_nanos(static_cast<std::int32_t>(random_()));
    message.mutable_reporting()->mutable_reward_window()->set_default_reward(Real());
    v1::FeatureField& field = *message.mutable_features()->add_arm();
    field.set_name(Name());
    field.mutable_numeric()->set_low(Real());
    return message;
  }

  void Damage(std::string& bytes) {
    for (std::uint64_t i = random_() % 4; i > 0 && !bytes.empty(); --i) {
      const std::size_t at = random_() % bytes.size();
      switch (random_() % 4) {
        case 0:
          bytes[at] = static_cast<char>(random_());
          break;
        case 1:
          bytes.resize(at);
          break;
        case 2:
          bytes.insert(at, 1, static_cast<char>(random_()));
          break;
        default:
          bytes.insert(at, bytes.substr(random_() % bytes.size()));
      }
    }
  }
  // Field numbers and wire types that messages have, in any order.
  std::string Noise() {
    std::string bytes(random_() % 24, '\0');
    for (char& byte : bytes) byte = static_cast<char>(Half() ? random_() % 136 : random_());
    return bytes;
  }

  void ExpectAgreement(const google::protobuf::Message& message) {
    std::string bytes = message.SerializeAsString();
    const std::unique_ptr<google::protobuf::Message> read(message.New());
    ASSERT_TRUE(ReadByReflection(bytes, *read));
    ASSERT_EQ(read->SerializeAsString(), bytes);
    Damage(bytes);
    ASSERT_TRUE(AgreesWithProtobuf(bytes, message)) << message.GetTypeName();
    ASSERT_TRUE(AgreesWithProtobuf(Noise(), message)) << message.GetTypeName();
  }

  std::mt19937_64 random_{11};
};

TEST_F(WireReaderPropertyTest, PosteriorsAreThoseOfProtobuf) {
  for (int run = 0; run < kRuns; ++run) ExpectAgreement(Posterior());
}

TEST_F(WireReaderPropertyTest, EffectsAreThoseOfProtobuf) {
  for (int run = 0; run < kRuns; ++run) ExpectAgreement(Effects());
}

TEST_F(WireReaderPropertyTest, SelectionsAreThoseOfProtobuf) {
  for (int run = 0; run < kRuns; ++run) ExpectAgreement(Selection());
}

TEST_F(WireReaderPropertyTest, ModelsAreThoseOfProtobuf) {
  for (int run = 0; run < kRuns; ++run) ExpectAgreement(Model());
}

// The depth is in the hands of whoever reads messages in messages.
TEST_F(WireReaderPropertyTest, ATowerOfMessagesEndsWhereProtobufEndsIt) {
  google::protobuf::Value value;
  std::string bytes;
  for (int depth = 0; depth < 60; ++depth) {
    ASSERT_TRUE(AgreesWithProtobuf(bytes, value)) << depth;
    google::protobuf::Value outer;
    outer.mutable_list_value()->add_values()->ParseFromString(bytes);
    bytes = outer.SerializeAsString();
  }
}

}  // namespace
}  // namespace bandana::testing
