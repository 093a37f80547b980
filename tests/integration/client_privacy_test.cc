// The bytes that leave the device, and their probabilities.
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "bandana/client.h"
#include "client/src/seams.h"
#include "tests/support/alpha_registry.h"
#include "tests/support/failing_bits.h"
#include "tests/support/fake_recommender.h"
#include "tests/support/seeded_bits.h"
#include "tests/support/statistics.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace bandana::device {
namespace {

using namespace bandana::testing;

const std::vector<double> kArms = {1, 0, 0, 1};

class ClientPrivacyTest : public ::testing::Test {
 protected:
  std::unique_ptr<Client> MustConnect(const FakeRecommender& server, BitSource& bits) {
    ClientOptions options;
    options.target = server.target();
    options.model = "fake";
    auto store = DeviceStore::Open(folder_.File("device.db"));
    EXPECT_THAT(store, IsOk());
    Seams seams;
    seams.bits = &bits;
    auto client = Connect(options, *store, seams);
    EXPECT_THAT(client, IsOk());
    return client.ok() ? *std::move(client) : nullptr;
  }
  // Every byte that the device keeps: the database, its log, whatever lies beside it.
  std::string StoredBytes() const {
    std::ostringstream all;
    for (const auto& file : std::filesystem::directory_iterator(folder_.path())) {
      all << std::ifstream(file.path(), std::ios::binary).rdbuf();
    }
    return all.str();
  }

  testing::TempDir folder_;
};

template <typename Number>
std::string BytesOf(Number value) {
  std::string bytes(sizeof(value), '\0');
  std::memcpy(bytes.data(), &value, sizeof(value));
  return bytes;
}

TEST_F(ClientPrivacyTest, RewardIsOnNoWireAndOnNoDisk) {
  FakeRecommender server(LocalSpec());
  SeededBits bits(1);
  const auto client = MustConnect(server, bits);
  // The grid step that the reward is clipped to must not appear either.
  const double rewards[] = {0.7351239846, 0.2718281828, 41.75, -3.0625, 1e-9};
  for (int round = 0; round < 10; ++round) {
    for (const double reward : rewards) {
      ASSERT_THAT(client->Report(*client->Select("u", Arms::Inline(kArms)), reward), IsOk());
    }
  }
  ASSERT_TRUE(client->Flush(absl::Seconds(10)));
  EXPECT_EQ(client->Stats().rewards_clipped, 20);
  std::string wire;
  for (const auto& delivery : server.deliveries()) wire += delivery.bytes;
  for (const auto& select : server.selects()) wire += select;
  const std::string stored = StoredBytes();
  ASSERT_NE(wire.find("token-1"), std::string::npos);  // we do look at the right bytes
  EXPECT_EQ(stored.find("token-1"), std::string::npos);
  for (const double reward : rewards) {
    for (const std::string& needle :
         {BytesOf(reward), BytesOf(static_cast<float>(reward)), std::to_string(reward)}) {
      EXPECT_EQ(wire.find(needle), std::string::npos) << reward;
      EXPECT_EQ(stored.find(needle), std::string::npos) << reward;
    }
  }
}

TEST_F(ClientPrivacyTest, SubmitHasNoFieldForAReward) {
  const auto names = [](const google::protobuf::Descriptor* message) {
    std::set<std::string> names;
    for (int i = 0; i < message->field_count(); ++i) {
      const auto* field = message->field(i);
      EXPECT_NE(field->cpp_type(), google::protobuf::FieldDescriptor::CPPTYPE_DOUBLE);
      EXPECT_NE(field->cpp_type(), google::protobuf::FieldDescriptor::CPPTYPE_FLOAT);
      names.insert(field->name());
    }
    return names;
  };
  EXPECT_THAT(names(v1::SubmitRequest::descriptor()),
              ::testing::ElementsAre("context_reports", "counter_reports", "model", "policy_hash",
                                     "reports"));
  EXPECT_THAT(names(v1::PerturbedReport::descriptor()),
              ::testing::ElementsAre("output", "shown", "token", "whole_range"));
  EXPECT_THAT(names(v1::CounterStep::descriptor()), ::testing::ElementsAre("shown", "token"));
}

TEST_F(ClientPrivacyTest, SameOutputsGiveTheSameBytesWhateverTheRewards) {
  // Two runs whose rewards differ in every event; the reports whose outputs agree are equal byte
  // for byte, so nothing but the output depends on the reward.
  PublicSpec spec = LocalSpec();
  spec.reward_binary = true;
  std::vector<std::vector<v1::PerturbedReport>> runs;
  std::vector<std::vector<std::string>> selects;
  for (const double reward : {0.0, 1.0}) {
    FakeRecommender server(spec);
    SeededBits bits(reward == 0 ? 17 : 18);
    const testing::TempDir folder;
    ClientOptions options;
    options.target = server.target();
    options.model = "fake";
    Seams seams;
    seams.bits = &bits;
    const auto client = *Connect(options, *DeviceStore::Open(folder.File("d.db")), seams);
    for (int i = 0; i < 50; ++i) {
      ASSERT_THAT(client->Report(*client->Select("u", Arms::Inline(kArms)), reward), IsOk());
      ASSERT_TRUE(client->Flush(absl::Seconds(10)));
    }
    runs.push_back(server.applied_reports());
    selects.push_back(server.selects());
  }
  EXPECT_EQ(selects[0], selects[1]);
  int equal = 0;
  for (int i = 0; i < 50; ++i) {
    v1::PerturbedReport other = runs[1][i];
    equal += other.output() == runs[0][i].output();
    other.set_output(runs[0][i].output());
    EXPECT_EQ(other.SerializeAsString(), runs[0][i].SerializeAsString());
  }
  EXPECT_GT(equal, 0);
  EXPECT_LT(equal, 50);
}

// Alpha: AlphaOf("client_wire_fit") over both rewards. Power: a client that randomizes twice, or
// not at all, is rejected with probability at least 0.99.
TEST_F(ClientPrivacyTest, OutputsOnTheWireFollowTheRandomizer) {
  PublicSpec spec = LocalSpec();
  spec.reward_binary = true;
  FakeRecommender server(spec);
  SeededBits bits(20250601);
  const auto client = MustConnect(server, bits);
  constexpr int kThreads = 8;
  constexpr int kRounds = 300;
  constexpr int kReports = kThreads * kRounds / 2;
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int round = 0; round < kRounds; ++round) {
        // The user's name says what was reported, so that the server's side can be counted.
        const auto selection = client->Select(round % 2 ? "one" : "zero", Arms::Inline(kArms));
        failures += !selection.ok() || !client->Report(*selection, round % 2).ok();
      }
    });
  }
  for (auto& each : threads) each.join();
  ASSERT_EQ(failures, 0);
  ASSERT_TRUE(client->Flush(absl::Seconds(60)));
  std::vector<std::string> user_of_token(server.selects().size() + 1);
  for (std::size_t i = 0; i < server.selects().size(); ++i) {
    v1::SelectRequest request;
    ASSERT_TRUE(request.ParseFromString(server.selects()[i]));
    user_of_token[i + 1] = request.user();
  }
  std::uint64_t ones_of_one = 0, ones_of_zero = 0;
  for (const auto& report : server.applied_reports()) {
    ASSERT_LT(report.output(), 2);
    const int number = std::stoi(report.token().substr(std::string("token-").size()));
    (user_of_token[number] == "one" ? ones_of_one : ones_of_zero) += report.output();
  }
  // Randomized response at epsilon 1: P(1 | 1) = e / (1 + e), P(1 | 0) = 1 / (1 + e).
  const double p = std::exp(1.0) / (1 + std::exp(1.0));
  const double alpha = AlphaOf("client_wire_fit") / 2;
  const auto of_one = BinomialTest::Create(kReports, p, alpha);
  const auto of_zero = BinomialTest::Create(kReports, 1 - p, alpha);
  EXPECT_TRUE(of_one->Accepts(ones_of_one)) << ones_of_one;
  EXPECT_TRUE(of_zero->Accepts(ones_of_zero)) << ones_of_zero;
  EXPECT_GE(of_one->RejectionProbability(p * p + (1 - p) * (1 - p)), 0.99);
  EXPECT_GE(of_one->RejectionProbability(1.0), 0.99);
}

TEST_F(ClientPrivacyTest, WithoutEntropyNothingIsKeptOrSentAndTheDebitStands) {
  FakeRecommender server(LocalSpec());
  FailingBits dry(0);
  {
    const auto client = MustConnect(server, dry);
    const Selection selection = *client->Select("u", Arms::Inline(kArms));
    EXPECT_THAT(client->Report(selection, 1.0), StatusIs(absl::StatusCode::kUnavailable));
    EXPECT_TRUE(client->Flush(absl::Seconds(10)));
    EXPECT_EQ(client->Stats().reports_queued, 0);
    EXPECT_EQ(client->Stats().reports_pending, 0);
    EXPECT_EQ(client->Spent("u")->events, 1);
  }
  EXPECT_TRUE(server.deliveries().empty());
  SeededBits bits(1);
  const auto client = MustConnect(server, bits);
  EXPECT_TRUE(client->Flush(absl::Seconds(10)));
  EXPECT_TRUE(server.deliveries().empty());
  EXPECT_EQ(client->Stats().reports_pending, 0);
}

}  // namespace
}  // namespace bandana::device
