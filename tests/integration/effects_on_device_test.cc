// Choice on the device for a model of effects, against the real server: the device ranks as the
// server would, from its posterior and a block of effects of arms that nobody's decision chose.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "bandana/client.h"
#include "common/base/file.h"
#include "tests/support/server_process.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tools/ctl/admin_client.h"

namespace bandana::testing {
namespace {

constexpr char kModels[] =
    "models { name: 'private' dimension: 2 mode: LOCAL_REWARD privacy { epsilon: 5 }\n"
    "  effects { user_groups: 'plan' arm_groups: 'genre' users_file: 'users.tsv'\n"
    "    effects { name: 'shared' } effects { name: 'constant' features: CONSTANT }\n"
    "    effects { name: 'plan' keys { user_group: 'plan' } }\n"
    "    effects { name: 'user' keys { user: true } }\n"
    "    effects { name: 'arm' keys { arm: true } features: CONSTANT }\n"
    "    effects { name: 'genre' keys { arm_group: 'genre' } features: CONSTANT } }\n"
    "  reporting { one_per_decision: true } }\n"
    "models { name: 'pairs' dimension: 2 mode: NON_PRIVATE\n"
    "  effects { effects { name: 'shared' }\n"
    "    effects { name: 'pair' keys { user: true } keys { arm: true } features: CONSTANT } }\n"
    "  reporting { one_per_decision: true } }\n";

// Five arms, the last two of which the server's catalogue does not have.
const std::vector<std::uint32_t> kIds = {7, 8, 9, 50, Arms::kNoId};
const std::vector<double> kFeatures = {0.6, 0.8, 0.8, 0.6, 1, 0, 0, 1, 0.5, -0.5};

class EffectsOnDeviceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_THAT(WriteFileDurably(folder_.File("users.tsv"),
                                 "user\tplan\nann\tgold\nbob\tgold\neve\tfree\n", 0644),
                IsOk());
    auto server = ServerProcess::Start({.config = kModels, .folder = folder_.path()});
    ASSERT_THAT(server, IsOk());
    server_ = *std::move(server);
    admin_ = *AdminClient::Connect(server_->listen(), absl::Seconds(60));
    std::vector<v1::Arm> arms(3);
    for (int i = 0; i < 3; ++i) {
      arms[i].set_id(kIds[i]);
      for (const double x : {kFeatures[2 * i], kFeatures[2 * i + 1]}) arms[i].add_features(x);
      if (i != 1) arms[i].add_tags("new");
      (*arms[i].mutable_groups())["genre"] = i == 2 ? "jazz" : "rock";
    }
    ASSERT_THAT(admin_->PutArms("private", arms), IsOk());
  }

  std::unique_ptr<Client> Connect(const std::string& model, const std::string& tag = "") {
    ClientOptions options;
    options.target = server_->listen();
    options.model = model;
    options.select_deadline = absl::Seconds(20);
    options.policy = PrivacyPolicy::AcceptAnything();
    options.posterior_interval = absl::Milliseconds(50);
    options.arm_effects_tag = tag;
    auto store = DeviceStore::Open(folder_.File(absl::StrCat("device", ++stores_)));
    EXPECT_THAT(store, IsOk());
    auto client = Client::Connect(options, *store);
    EXPECT_THAT(client, IsOk());
    return client.ok() ? *std::move(client) : nullptr;
  }
  void Settle(Client& client) {
    ASSERT_TRUE(client.Flush(absl::Seconds(60)));
    for (int i = 0; i < 1000; ++i) {
      const auto stats = admin_->GetStats("private");
      if (stats.ok() && stats->applied_sequence() == stats->log_sequence()) return;
      absl::SleepFor(absl::Milliseconds(10));
    }
    FAIL() << "not applied";
  }
  // Arm 8 is liked, all others are not.
  void Teach(Client& client, int events) {
    const std::vector<std::string> users = {"ann", "bob", "eve", "zoe"};
    for (int i = 0; i < events; ++i) {
      const std::vector<std::uint32_t> one = {kIds[i % 3]};
      const auto selection = client.Select(users[i % 4], Arms::Catalogue(one));
      ASSERT_THAT(selection, IsOk());
      ASSERT_THAT(client.Report(*selection, i % 3 == 1 ? 0.9 : 0.1), IsOk());
    }
    Settle(client);
  }
  static std::map<int, RankedArm> ByPosition(const absl::StatusOr<Selection>& selection) {
    std::map<int, RankedArm> arms;
    EXPECT_THAT(selection, IsOk());
    if (!selection.ok()) return arms;
    for (const RankedArm& arm : selection->arms) arms[arm.position] = arm;
    return arms;
  }
  static std::vector<int> OrderOf(const Selection& selection) {
    std::vector<int> order;
    for (const RankedArm& arm : selection.arms) order.push_back(arm.position);
    return order;
  }

  const TempDir folder_;
  int stores_ = 0;
  std::unique_ptr<ServerProcess> server_;
  std::unique_ptr<AdminClient> admin_;
};

TEST_F(EffectsOnDeviceTest, RanksAsTheServerWould) {
  const auto teacher = Connect("private");
  Teach(*teacher, 240);
  const auto client = Connect("private");
  for (const std::string user : {"ann", "eve", "zoe", "never seen"}) {
    SCOPED_TRACE(user);
    ASSERT_THAT(client->RefreshPosterior(user), IsOkAndHolds(true));
    const auto here = client->SelectOnDevice(user, Arms::Inline(kFeatures, kIds), 5);
    const auto there = client->Select(user, Arms::Inline(kFeatures, kIds), 5);
    ASSERT_THAT(here, IsOk());
    ASSERT_THAT(there, IsOk());
    EXPECT_EQ(here->posterior_version, there->posterior_version);
    EXPECT_EQ(OrderOf(*here), OrderOf(*there));
    const auto ours = ByPosition(here);
    auto theirs = ByPosition(there);
    for (const auto& [position, arm] : ours) {
      EXPECT_NEAR(arm.mean, theirs[position].mean, 1e-6);
      EXPECT_NEAR(arm.width, theirs[position].width, 1e-6);
      EXPECT_NEAR(arm.score, theirs[position].score, 1e-6);
    }
    // The arm that is liked, by itself.
    EXPECT_GT(ours.at(1).mean, ours.at(0).mean + 0.05);
    // With its catalogue id the same arm is the same to the server.
    const std::vector<std::uint32_t> known(kIds.begin(), kIds.begin() + 3);
    const auto catalogue = ByPosition(client->Select(user, Arms::Catalogue(known), 3));
    for (const auto& [position, arm] : catalogue) {
      EXPECT_NEAR(arm.mean, ours.at(position).mean, 1e-6);
    }
  }
}

TEST_F(EffectsOnDeviceTest, ATagsBlockTellsOfItsArmsAlone) {
  const auto teacher = Connect("private");
  Teach(*teacher, 240);
  const auto all = Connect("private");
  const auto tagged = Connect("private", "new");
  const auto none = Connect("private", "nobody has it");
  std::vector<std::map<int, RankedArm>> ranked;
  for (Client* client : {all.get(), tagged.get(), none.get()}) {
    ASSERT_THAT(client->RefreshPosterior("ann"), IsOk());
    ranked.push_back(ByPosition(client->SelectOnDevice("ann", Arms::Inline(kFeatures, kIds), 5)));
    ASSERT_EQ(ranked.back().size(), 5);
  }
  // Arm 8 is not new; arms 50 and without id are unknown to everybody.
  for (const int same : {0, 2, 3, 4}) EXPECT_EQ(ranked[1][same].mean, ranked[0][same].mean);
  EXPECT_LT(ranked[1][1].mean, ranked[0][1].mean - 0.02);
  EXPECT_GT(ranked[1][1].width, ranked[0][1].width);
  EXPECT_EQ(ranked[2][1].mean, ranked[1][1].mean);
  EXPECT_EQ(ranked[2][3].width, ranked[0][3].width);
  EXPECT_NE(ranked[2][0].mean, ranked[0][0].mean);
}

// Events of arms that devices chose count for these arms and their groups.
TEST_F(EffectsOnDeviceTest, WhatWasChosenHereIsLearntThere) {
  const auto client = Connect("private");
  ASSERT_THAT(client->RefreshPosterior("eve"), IsOk());
  const std::vector<std::uint32_t> arm = {9};
  const std::vector<double> x = {1, 0};
  for (int i = 0; i < 150; ++i) {
    const auto selection = client->SelectOnDevice("eve", Arms::Inline(x, arm));
    ASSERT_THAT(selection, IsOk());
    ASSERT_THAT(client->Report(*selection, 1), IsOk());
  }
  Settle(*client);
  EXPECT_EQ(admin_->GetStats("private")->reports_applied(), 150);
  // Against an arm with the same features that nobody was shown; the block comes by the clock.
  const auto difference = [&](std::uint32_t other) {
    const std::vector<std::uint32_t> two = {9, other};
    const std::vector<double> features = {1, 0, 1, 0};
    auto arms = ByPosition(client->SelectOnDevice("eve", Arms::Inline(features, two), 2));
    return arms[0].mean - arms[1].mean;
  };
  for (int i = 0; i < 1000 && difference(50) < 0.02; ++i) absl::SleepFor(absl::Milliseconds(10));
  EXPECT_GT(difference(50), 0.02);
  // An arm of its group has a part of it.
  std::vector<v1::Arm> jazz(1);
  jazz[0].set_id(60);
  for (const double feature : x) jazz[0].add_features(feature);
  (*jazz[0].mutable_groups())["genre"] = "jazz";
  ASSERT_THAT(admin_->PutArms("private", jazz), IsOk());
  const auto later = Connect("private");
  ASSERT_THAT(later->RefreshPosterior("eve"), IsOk());
  const std::vector<std::uint32_t> three = {9, 60, 50};
  const std::vector<double> features = {1, 0, 1, 0, 1, 0};
  auto arms = ByPosition(later->SelectOnDevice("eve", Arms::Inline(features, three), 3));
  EXPECT_GT(arms[0].mean, arms[1].mean);
  EXPECT_GT(arms[1].mean, arms[2].mean);
}

TEST_F(EffectsOnDeviceTest, EffectsOfPairsAreRankedByTheServer) {
  const auto client = Connect("pairs");
  EXPECT_THAT(client->RefreshPosterior("ann"),
              StatusIs(absl::StatusCode::kFailedPrecondition, "ranked by the server"));
  EXPECT_THAT(client->SelectOnDevice("ann", Arms::Inline(kFeatures, kIds)),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(client->Select("ann", Arms::Inline(kFeatures, kIds)), IsOk());
}

// The server comes back, and until then what was fetched is used.
TEST_F(EffectsOnDeviceTest, WithoutAServerTheLastBlockIsUsed) {
  const auto client = Connect("private");
  Teach(*client, 120);
  ASSERT_THAT(client->RefreshPosterior("ann"), IsOk());
  const auto before = ByPosition(client->SelectOnDevice("ann", Arms::Inline(kFeatures, kIds), 5));
  server_->Kill();
  absl::SleepFor(absl::Milliseconds(300));  // fetches fail
  auto after = ByPosition(client->SelectOnDevice("ann", Arms::Inline(kFeatures, kIds), 5));
  for (const auto& [position, arm] : before) EXPECT_EQ(after[position].score, arm.score);
}

}  // namespace
}  // namespace bandana::testing
