// Servers that share a database, as registries in one process: who owns a model learns, the others
// follow, and one of them takes over.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "server/models/folder/checkpoint_store.h"
#include "server/models/folder/publication.h"
#include "server/models/replicas/followed_model.h"
#include "server/models/replicas/ranks.h"
#include "tests/support/model_harness.h"
#include "tests/support/shared_database.h"
#include "tests/support/status_matchers.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;

// One server: a folder, a name, and an address that nobody listens at.
struct Replica {
  std::shared_ptr<const server::LogEngine> log;
  std::string folder;  // of model m
  std::unique_ptr<ModelRegistry> registry;
  std::shared_ptr<ServedModel> model() const { return registry->Find("m"); }
  std::shared_ptr<HostedModel> owned() const { return registry->FindOwned("m"); }
  bool owns() const { return owned() != nullptr; }
  bool follows() const { return model() != nullptr && model()->owner().has_value(); }
};

class ReplicasTest : public SharedDatabaseTest {
 protected:
  Replica Start(const std::string& name, const char* configured = kPlain) {
    ModelRegistry::Options options = OptionsOf(name);
    options.hand_decision = [this](const std::string& owner, const PublicSpec& model,
                                   std::span<const Decision> slots) {
      const std::lock_guard lock(mutex_);
      handed_.push_back(owner + " " + model.name + " " + std::to_string(slots.size()));
    };
    options.owner_reached = [this](const std::string&) { return reached_.load(); };
    options.owner_gone = [this](const std::string& owner) {
      const std::lock_guard lock(mutex_);
      gone_.push_back(owner);
    };
    auto registry = ModelRegistry::Open(options, SystemClock());
    EXPECT_THAT(registry, IsOk());
    Replica replica{options.log, folder_.File(name + "/models/m"), *std::move(registry)};
    if (configured != nullptr) {
      // The registry tries a model again whose log is not there yet.
      replica.registry->AddConfigured(SpecOf(configured)).IgnoreError();
    }
    return replica;
  }
  v1::OutcomeCode Report(ServedModel& model, std::uint64_t number, double reward) {
    const Decision decision = DecisionOf(model, SystemClock(), number, {0.6, 0.8});
    return CodeOf(ReportOne(model, decision, reward));
  }
  static std::uint64_t Durable(const ServedModel& model) { return model.Stats().log_sequence(); }
  // Waits until the two show the same version; whether it is the same posterior. Releases are equal
  // bit for bit; numbers computed from them depend on where the computing began.
  static bool Same(const Replica& one, const Replica& two) {
    // A follower that falls behind is replaced.
    std::shared_ptr<ServedModel> a, b;
    std::shared_ptr<const ServedPosterior> shown_a, shown_b;
    if (!Eventually([&] {
          a = one.model();
          b = two.model();
          const v1::GetStatsResponse stats = a->Stats();
          shown_a = a->posterior();
          shown_b = b->posterior();
          return stats.applied_sequence() == stats.log_sequence() &&
                 shown_a->version() == shown_b->version();
        })) {
      for (const auto& model : {a, b}) {
        std::printf("version %d, health %s, stats %s\n",
                    static_cast<int>(model->posterior()->version()),
                    std::string(model->Health().message()).c_str(),
                    model->Stats().ShortDebugString().c_str());
      }
      return false;
    }
    const NodePosterior of_a = NodeOf(*shown_a, 0), of_b = NodeOf(*shown_b, 0);
    for (std::size_t i = 0; i < of_a.mean.size(); ++i) {
      if (std::abs(of_a.mean[i] - of_b.mean[i]) > 1e-12) return false;
    }
    return of_a.mean.size() == of_b.mean.size();
  }
  // Whether the follower has the owner's state, bit for bit: releases, statistics, ledger.
  static bool HasStateOf(const Replica& owner, const Replica& follower) {
    if (!owner.owned()->Checkpoint().ok()) return false;
    const auto state = owner.log->OpenState(owner.folder, /*draws_noise=*/false);
    const server::CheckpointStore store({.state = *state}, [](const std::string&) {});
    auto& followed = dynamic_cast<server::FollowedModel&>(*follower.model());
    return StateIn(**store.FindNewest()) == StateIn(*server::DecodeCheckpoint(*followed.Capture()));
  }
  // Without what is of one server alone.
  static std::string StateIn(server::Checkpoint checkpoint) {
    checkpoint.counters.clear();
    checkpoint.published = {};
    return server::EncodeAgain(checkpoint);
  }

  std::vector<std::string> gone_;
  std::atomic<bool> reached_{true};  // followers have a connection to owners
  std::vector<std::string> handed_;
};

TEST(RanksTest, EveryServerFindsTheSameOrder) {
  const std::vector<std::string> servers = {"a:1", "b:1", "c:1"};
  std::map<std::string, int> firsts;
  for (int model = 0; model < 300; ++model) {
    const std::string log = std::to_string(model);
    std::vector<std::size_t> ranks;
    ranks.reserve(servers.size());
    for (const std::string& server : servers) ranks.push_back(server::RankOf(log, servers, server));
    EXPECT_THAT(ranks, ::testing::UnorderedElementsAre(0, 1, 2));
    const std::string& first = server::FirstOf(log, servers);
    EXPECT_EQ(server::RankOf(log, servers, first), 0u);
    ++firsts[first];
    // A server that goes moves nobody else's models.
    if (first != "c:1") {
      EXPECT_EQ(server::FirstOf(log, std::vector<std::string>{"a:1", "b:1"}), first);
    }
  }
  for (const auto& [server, models] : firsts) EXPECT_GT(models, 60) << server;
}

TEST_F(ReplicasTest, OthersFollowTheOwnerAndOneTakesOver) {
  Replica one = Start("one");
  ASSERT_TRUE(one.owns());
  for (int i = 1; i <= 100; ++i) ASSERT_EQ(Report(*one.model(), i, i % 3 == 0), v1::APPLIED);
  ASSERT_THAT(one.owned()->Checkpoint(), IsOk());
  for (int i = 101; i <= 150; ++i) ASSERT_EQ(Report(*one.model(), i, i % 3 == 0), v1::APPLIED);
  Replica two = Start("two");
  ASSERT_TRUE(Eventually([&] { return two.follows(); }));
  EXPECT_TRUE(Same(one, two));
  EXPECT_EQ(two.model()->instance(), one.model()->instance());
  // Later reports arrive as well.
  for (int i = 151; i <= 300; ++i) ASSERT_EQ(Report(*one.model(), i, i % 3 == 0), v1::APPLIED);
  EXPECT_TRUE(Same(one, two));
  EXPECT_TRUE(HasStateOf(one, two));
  const server::CatalogueArm arm{.id = 7, .features = {0.5, 0.25}, .tags = {"new"}, .groups = {}};
  v1::PutArmsResponse put;
  ASSERT_THAT(one.owned()->PutArms({&arm, 1}, &put), IsOk());
  EXPECT_TRUE(Eventually([&] { return two.model()->catalogue()->Find(7).has_value(); }));
  ASSERT_THAT(one.owned()->RemoveArms(std::vector<std::uint32_t>{7}), IsOk());
  EXPECT_TRUE(Eventually([&] { return !two.model()->catalogue()->Find(7).has_value(); }));
  // A follower changes nothing.
  EXPECT_THAT(ReportOne(*two.model(), DecisionOf(*two.model(), SystemClock(), 999, {0.6, 0.8}), 1),
              StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_EQ(two.owned(), nullptr);
  EXPECT_EQ(two.model()->Stats().follower().owner(), "one:1");
  EXPECT_LT(two.model()->Stats().follower().staleness_seconds(), 5);

  const std::uint64_t durable = Durable(*one.model());
  one.registry.reset();  // gives its log back
  ASSERT_TRUE(Eventually([&] { return two.owns(); }));
  {
    const std::lock_guard lock(mutex_);
    EXPECT_THAT(gone_, ::testing::Contains("one:1"));
  }
  EXPECT_EQ(Durable(*two.model()), durable);
  EXPECT_EQ(Report(*two.model(), 300, 1), v1::DUPLICATE);
  EXPECT_EQ(Report(*two.model(), 301, 1), v1::APPLIED);
  // The first comes back and follows, until it is its turn.
  one = Start("one");
  ASSERT_TRUE(Eventually([&] { return one.follows() || one.owns(); }));
  ASSERT_TRUE(Eventually([&] { return Durable(*one.model()) == Durable(*two.model()); }));
  EXPECT_TRUE(Same(one, two));
}

// The store is there, and the owner; but reports that come to a follower do not get to it.
TEST_F(ReplicasTest, AFollowerSaysThatItDoesNotReachTheOwner) {
  Replica one = Start("one");
  Replica two = Start("two");
  ASSERT_TRUE(Eventually([&] { return two.follows() && two.model()->owner() == "one:1"; }));
  EXPECT_THAT(two.model()->Health(), IsOk());
  reached_ = false;
  ASSERT_TRUE(Eventually([&] { return !two.model()->Health().ok(); }));
  EXPECT_THAT(two.model()->Health(),
              StatusIs(absl::StatusCode::kUnknown, "owner at one:1 cannot be reached for "));
  EXPECT_THAT(two.model()->Refusals(), ::testing::SizeIs(1));
  EXPECT_THAT(one.model()->Health(), IsOk());
  reached_ = true;
  EXPECT_TRUE(Eventually([&] { return two.model()->Health().ok(); }));
}

TEST_F(ReplicasTest, EveryReplicaHasTheOwnersReleases) {
  Replica one = Start("one", kCentral);
  ASSERT_TRUE(one.owns());
  for (int i = 1; i <= 60; ++i) {
    ASSERT_EQ(Report(*one.model(), i, i % 2), v1::APPLIED);
    if (i == 40) {
      ASSERT_THAT(one.owned()->Checkpoint(), IsOk());  // trims
    }
  }
  Replica two = Start("two", kCentral);
  ASSERT_TRUE(Eventually([&] { return two.follows(); }));
  EXPECT_TRUE(Same(one, two));
  for (int i = 61; i <= 120; ++i) {
    ASSERT_EQ(Report(*one.model(), i, i % 2), v1::APPLIED);
    if (i == 90) {
      ASSERT_THAT(one.owned()->Checkpoint(), IsOk());
    }
  }
  EXPECT_TRUE(Same(one, two));
  EXPECT_TRUE(HasStateOf(one, two));
  EXPECT_EQ(one.model()->Ledger().user().epsilon_zcdp(),
            two.model()->Ledger().user().epsilon_zcdp());
  // It has written down the version that it has shown, so that it refuses a database of the past.
  const auto published =
      server::ReadPublished(folder_.File("two/models/m"), two.model()->instance());
  ASSERT_THAT(published, IsOk());
  EXPECT_TRUE(published->known);
  EXPECT_EQ(published->position.sequence, two.model()->posterior()->version());
  // It was away, and its record is older than the owner's checkpoint.
  two.registry.reset();
  for (int i = 201; i <= 240; ++i) ASSERT_EQ(Report(*one.model(), i, i % 2), v1::APPLIED);
  ASSERT_THAT(one.owned()->Checkpoint(), IsOk());
  two = Start("two", kCentral);
  ASSERT_TRUE(Eventually([&] { return two.follows(); }));
  EXPECT_TRUE(Same(one, two));
  const std::vector<double> released = NodeOf(*one.model()->posterior(), 0).mean;
  one.registry.reset();
  ASSERT_TRUE(Eventually([&] { return two.owns(); }));
  const std::vector<double> again = NodeOf(*two.model()->posterior(), 0).mean;
  for (std::size_t i = 0; i < 2; ++i) EXPECT_NEAR(again[i], released[i], 1e-12);
  EXPECT_EQ(Report(*two.model(), 121, 1), v1::APPLIED);
}

// The word of an owner that serves is what a machine without a record goes by: without one it
// waits.
TEST_F(ReplicasTest, ACentralModelWithoutRecordOrOwnerWaitsForAnEpoch) {
  {
    Replica one = Start("one", kCentral);
    for (int i = 1; i <= 10; ++i) ASSERT_EQ(Report(*one.model(), i, 1), v1::APPLIED);
  }
  Replica two = Start("two", kCentral);
  absl::SleepFor(absl::Seconds(1));
  ASSERT_EQ(two.model(), nullptr);
  ASSERT_EQ(two.registry->Absent().size(), 1u);
  EXPECT_TRUE(server::IsNeedsEpoch(two.registry->Absent()[0].why));
  ASSERT_THAT(two.registry->OpenEpoch("m"), IsOk());
  EXPECT_TRUE(two.owns());
}

TEST_F(ReplicasTest, ModelsMadeAtRunTimeComeAndGoEverywhere) {
  Replica one = Start("one", nullptr);
  Replica two = Start("two", nullptr);
  ASSERT_THAT(one.registry->Create(SpecOf(kPlain)), IsOk());
  EXPECT_TRUE(one.owns());
  ASSERT_TRUE(Eventually([&] { return two.follows(); }));
  const ModelSpec next = SpecOf(std::string(kPlain) + " arms_max: 9");
  ASSERT_THAT(one.registry->Update(next), IsOk());
  ASSERT_TRUE(
      Eventually([&] { return two.model() != nullptr && two.model()->spec().arms_max == 9; }));
  ASSERT_THAT(one.registry->PutAlias({.name = "shop", .shares = {{.model = "m", .weight = 1}}}),
              IsOk());
  ASSERT_TRUE(Eventually([&] { return two.registry->FindAlias("shop") != nullptr; }));
  ASSERT_THAT(one.registry->DeleteAlias("shop"), IsOk());
  ASSERT_TRUE(Eventually([&] { return two.registry->FindAlias("shop") == nullptr; }));
  EXPECT_THAT((one.owns() ? two : one).registry->Delete("m"),
              StatusIs(absl::StatusCode::kUnavailable));
  ASSERT_TRUE(Eventually([&] {
    const Replica& owner = one.owns() ? one : two;
    return owner.registry->Delete("m").ok();
  }));
  ASSERT_TRUE(Eventually([&] { return one.model() == nullptr && two.model() == nullptr; }));
  for (const char* name : {"one/models/m", "two/models/m"}) {
    EXPECT_TRUE(Eventually([&] { return !std::filesystem::exists(folder_.File(name)); })) << name;
  }
}

// While a deletion waits for calls, servers still see the model in the store.
TEST_F(ReplicasTest, ADeletionThatWaitsLeavesNoFolder) {
  Replica one = Start("one", nullptr);
  ASSERT_THAT(one.registry->Create(SpecOf(kPlain)), IsOk());
  std::shared_ptr<ServedModel> call = one.model();
  std::thread deletion([&] { EXPECT_THAT(one.registry->Delete("m"), IsOk()); });
  absl::SleepFor(absl::Seconds(1));
  EXPECT_EQ(one.model(), nullptr);
  call.reset();
  deletion.join();
  absl::SleepFor(absl::Seconds(1));  // whoever saw it has looked again
  EXPECT_FALSE(std::filesystem::exists(folder_.File("one/models/m")));
  ASSERT_THAT(one.registry->Create(SpecOf(kPlain)), IsOk());
  EXPECT_TRUE(one.owns());
}

TEST_F(ReplicasTest, DecisionsWithAWindowGoToTheOwner) {
  const char* const window =
      "name: 'm' dimension: 2 mode: NON_PRIVATE shared {} refresh_interval {}"
      " reporting { reward_window { duration { seconds: 60 } default_reward: 0 } }";
  Replica one = Start("one", window);
  Replica two = Start("two", window);
  ASSERT_TRUE(Eventually([&] { return two.follows() && two.model()->owner() == "one:1"; }));
  const Decision decision = DecisionOf(*two.model(), SystemClock(), 1, {0.6, 0.8});
  EXPECT_THAT(two.model()->RecordDecision(decision), IsOk());
  EXPECT_THAT(handed_, ::testing::ElementsAre("one:1 m 1"));
  // Nobody owns it: the selection goes on, and the decision is no event.
  one.registry.reset();
  EXPECT_THAT(two.model()->RecordDecision(decision), IsOk());
}

// An owner notes what users were shown, also the decisions that a follower hands to it; every
// server leaves those arms out, and so does the next owner.
TEST_F(ReplicasTest, EveryServerKnowsTheArmsThatUsersWereShown) {
  const char* const seen =
      "name: 'm' dimension: 2 mode: NON_PRIVATE effects { standard {} seen {} }"
      " refresh_interval {}";
  Replica one = Start("one", seen);
  Replica two = Start("two", seen);
  ASSERT_TRUE(Eventually([&] { return two.follows() && two.model()->owner() == "one:1"; }));
  const auto decision = [](const Replica& at, std::uint64_t number, std::uint32_t arm) {
    Decision of = DecisionOf(*at.model(), SystemClock(), number, {0.6, 0.8});
    of.arms[0].keys = {UserKey("ann"), ArmKey(arm)};
    return of;
  };
  const auto arms = [](const Replica& at, SeenKind kind) {
    std::vector<std::uint32_t> out;
    if (at.model() == nullptr) return out;
    for (const auto& arm : at.model()->seen()->Of(kind, UserKey("ann"), absl::InfinitePast())) {
      out.push_back(arm.arm);
    }
    return out;
  };
  const Decision first = decision(one, 1, 7);
  ASSERT_THAT(one.model()->RecordDecision(first), IsOk());
  ASSERT_EQ(CodeOf(ReportOne(*one.model(), first, 1)), v1::APPLIED);
  const Decision other = decision(two, 2, 8);
  ASSERT_THAT(two.model()->RecordDecision(other), IsOk());
  EXPECT_THAT(handed_, ::testing::ElementsAre("one:1 m 1"));
  ASSERT_THAT(one.model()->RecordDecision(other), IsOk());  // as the owner does with it
  for (const bool taken_over : {false, true}) {
    if (taken_over) {
      one.registry.reset();
      ASSERT_TRUE(Eventually([&] { return two.owns(); }));
    }
    EXPECT_TRUE(Eventually([&] { return arms(two, SeenKind::kShown).size() == 2; }));
    EXPECT_THAT(arms(two, SeenKind::kShown), ::testing::ElementsAre(7, 8)) << taken_over;
    EXPECT_THAT(arms(two, SeenKind::kRewarded), ::testing::ElementsAre(7)) << taken_over;
  }
}

// A report inside a window is held by the store, not by the owner: the next owner closes the window
// with it.
TEST_F(ReplicasTest, HeldReactionsSurviveATakeover) {
  const char* const window =
      "name: 'm' dimension: 2 mode: NON_PRIVATE shared {} refresh_interval {} reward_stddev: 1"
      " prior_stddev: 1 reporting { reward_window { duration { seconds: 4 } default_reward: 0 } }";
  Replica one = Start("one", window);
  Replica two = Start("two", window);
  ASSERT_TRUE(Eventually([&] { return two.follows() && two.model()->owner() == "one:1"; }));
  std::vector<Decision> decisions;
  for (int i = 1; i <= 8; ++i) {
    decisions.push_back(DecisionOf(*one.model(), SystemClock(), i, {0.6, 0.8}));
    ASSERT_THAT(one.model()->RecordDecision(decisions.back()), IsOk());
  }
  ASSERT_EQ(CodeOf(ReportOne(*one.model(), decisions[0], 1)), v1::APPLIED);
  one.registry.reset();
  ASSERT_TRUE(Eventually([&] { return two.owns(); }));
  ASSERT_EQ(CodeOf(ReportOne(*two.model(), decisions[1], 1)), v1::APPLIED);
  EXPECT_EQ(NodeOf(*two.model()->posterior(), 0).mean, std::vector<double>(2, 0.0));
  // (I + 8 x x')^-1 2 x, at x of length 1.
  EXPECT_TRUE(Eventually([&] {
    const std::vector<double> mean = NodeOf(*two.model()->posterior(), 0).mean;
    return std::abs(mean[0] * 0.6 + mean[1] * 0.8 - 2 / 9.0) < 1e-9;
  }));
}

// Two models that differ in one reaction, inside its window: a follower shows the same of both.
TEST_F(ReplicasTest, AFollowerSaysNothingOfOpenWindows) {
  const auto config = [](const char* name) {
    return SpecOf(std::string("name: '") + name +
                  "' dimension: 2 mode: CENTRAL_REWARD shared {} refresh_interval {}"
                  " privacy { epsilon: 2 delta: 1e-6 mechanism: COUNTER }"
                  " reporting { reward_window { duration { seconds: 60 } default_reward: 0 } }");
  };
  Replica one = Start("one", nullptr);
  Replica two = Start("two", nullptr);
  for (const char* name : {"a", "b"}) {
    ASSERT_THAT(one.registry->AddConfigured(config(name)), IsOk());
    ASSERT_TRUE(Eventually([&] {
      two.registry->AddConfigured(config(name)).IgnoreError();
      const auto model = two.registry->Find(name);
      return model != nullptr && model->owner() == "one:1";
    }));
    const auto owned = one.registry->Find(name);
    for (int i = 1; i <= 20; ++i) {
      const Decision decision = DecisionOf(*owned, SystemClock(), i, {0.6, 0.8});
      ASSERT_THAT(owned->RecordDecision(decision), IsOk());
      // One after the other on both: a version is where the block ends that was applied.
      ASSERT_TRUE(Eventually([&] {
        const v1::GetStatsResponse stats = owned->Stats();
        return stats.log_sequence() > static_cast<std::uint64_t>(i) &&
               stats.applied_sequence() == stats.log_sequence();
      }));
      if (std::string_view(name) == "b") {
        ASSERT_EQ(CodeOf(ReportOne(*owned, decision, 1)), v1::APPLIED);
      }
    }
  }
  const auto shown = [&](const Replica& replica, const char* name) {
    v1::GetStatsResponse stats = replica.registry->Find(name)->Stats();
    if (stats.has_follower()) {
      stats.mutable_follower()->clear_staleness_seconds();
      stats.clear_posterior_version();  // where its own first block ended
    }
    return stats.SerializeAsString();
  };
  ASSERT_TRUE(Eventually([&] {
    const v1::GetStatsResponse stats = two.registry->Find("b")->Stats();
    return stats.log_sequence() >= 20 && stats.applied_sequence() == stats.log_sequence();
  }));
  absl::SleepFor(absl::Milliseconds(300));
  EXPECT_EQ(shown(two, "a"), shown(two, "b"));
  EXPECT_EQ(shown(one, "a"), shown(one, "b"));
}

TEST_F(ReplicasTest, ModelsSpreadOverServersThatStay) {
  Replica one = Start("one", nullptr);
  for (int i = 0; i < 8; ++i) {
    std::string config = kPlain;
    config.replace(config.find("'m'"), 3, "'m" + std::to_string(i) + "'");
    ASSERT_THAT(one.registry->Create(SpecOf(config)), IsOk());
  }
  Replica two = Start("two", nullptr);
  const auto owned = [](const Replica& replica) {
    int count = 0;
    for (const auto& model : replica.registry->List()) count += !model->owner();
    return count;
  };
  const absl::Time give_up = absl::Now() + absl::Seconds(60);
  while (owned(two) == 0 && absl::Now() < give_up) absl::SleepFor(absl::Milliseconds(50));
  EXPECT_GT(owned(two), 0);
  while (owned(one) + owned(two) != 8 && absl::Now() < give_up) {
    absl::SleepFor(absl::Milliseconds(50));
  }
  EXPECT_EQ(owned(one) + owned(two), 8);
}

// The process that believed to own a model wakes up: the store takes nothing from it, and it
// follows.
TEST_F(ReplicasTest, AFencedOwnerFollows) {
  Replica one = Start("one");
  ASSERT_TRUE(one.owns());
  ASSERT_EQ(Report(*one.model(), 1, 1), v1::APPLIED);
  Replica two = Start("two");
  ASSERT_TRUE(Eventually([&] { return two.follows(); }));
  // As if its lease had run out while it was frozen.
  const std::string take =
      "UPDATE bandana.logs SET lease_until = '-infinity', owner = 'somebody', term = term + 1";
  database_->Sql(take);
  const auto serves = [](const Replica& replica) {
    const auto owned = replica.owned();
    return owned != nullptr && owned->term() > 2;
  };
  ASSERT_TRUE(Eventually([&] { return serves(one) || serves(two); }));
  const Replica& owner = serves(one) ? one : two;
  const Replica& follower = serves(one) ? two : one;
  ASSERT_TRUE(Eventually([&] { return follower.follows(); }));
  ASSERT_EQ(Report(*owner.model(), 2, 1), v1::APPLIED);
  EXPECT_EQ(Report(*owner.model(), 1, 1), v1::DUPLICATE);
  EXPECT_TRUE(Same(owner, follower));
}

// The database goes away and comes back: selections go on everywhere.
TEST_F(ReplicasTest, SelectsWithoutTheDatabase) {
  Replica one = Start("one");
  Replica two = Start("two");
  ASSERT_TRUE(Eventually([&] { return two.follows(); }));
  ASSERT_EQ(Report(*one.model(), 1, 1), v1::APPLIED);
  ASSERT_TRUE(Same(one, two));
  database_->Kill();
  absl::SleepFor(absl::Seconds(1));
  for (const Replica* replica : {&one, &two}) {
    ASSERT_NE(replica->model(), nullptr);
    EXPECT_EQ(replica->model()->posterior()->version(), one.model()->posterior()->version());
    EXPECT_THAT(replica->model()->ResolveUser("u"), IsOk());
  }
  database_->Start();
  ASSERT_TRUE(Eventually([&] {
    const bool owned = one.owns() || two.owns();
    return owned && CodeOf(ReportOne(*(one.owns() ? one : two).model(),
                                     DecisionOf(*one.model(), SystemClock(), 2, {0.6, 0.8}), 1)) !=
                        v1::OUTCOME_CODE_UNSPECIFIED;
  }));
}

// It knows of no release, and comes before the owner has said that it serves.
TEST_F(ReplicasTest, ANewServerWaitsForTheOwnersWord) {
  Replica one = Start("one", kCentral);
  ASSERT_TRUE(one.owns());
  ASSERT_EQ(Report(*one.model(), 1, 1), v1::APPLIED);
  Replica two = Start("two", kCentral);
  EXPECT_TRUE(Eventually([&] { return two.model() != nullptr; }));
  EXPECT_TRUE(Same(one, two));
}

// The follower's connection for reading the log is cut off; the one that looks for owners is not.
TEST_F(ReplicasTest, AFollowerThatCannotReadIsNotLost) {
  Replica one = Start("one", kCentral);
  ASSERT_TRUE(one.owns());
  ASSERT_EQ(Report(*one.model(), 1, 1), v1::APPLIED);
  constexpr char kHave[] =
      "SELECT coalesce(max(pid), 0) FROM pg_stat_activity WHERE usename = 'bandana'";
  const std::int64_t of_one = database_->Number(kHave);
  Replica two = Start("two", kCentral);
  ASSERT_TRUE(Eventually([&] { return two.follows(); }));
  ASSERT_TRUE(Same(one, two));
  const std::uint64_t shown = two.model()->posterior()->version();
  database_->Sql("ALTER ROLE bandana CONNECTION LIMIT 0");
  const std::int64_t cut = database_->Number(
      "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = 'bandana'"
      " AND query NOT LIKE '%bandana.servers%' AND pid > " +
      std::to_string(of_one));
  ASSERT_GE(cut, 1);
  ASSERT_EQ(Report(*one.model(), 2, 1), v1::APPLIED);
  // UNKNOWN: it passes. Anything else would end a server all of whose models say so.
  for (const absl::Time end = absl::Now() + absl::Seconds(2); absl::Now() < end;
       absl::SleepFor(absl::Milliseconds(5))) {
    ASSERT_NE(two.model(), nullptr);
    const absl::Status health = two.model()->Health();
    ASSERT_TRUE(health.ok() || absl::IsUnknown(health)) << health;
    EXPECT_EQ(two.model()->posterior()->version(), shown);
  }
  EXPECT_TRUE(absl::IsUnknown(two.model()->Health()));
  database_->Sql("ALTER ROLE bandana CONNECTION LIMIT -1");
  EXPECT_TRUE(Same(one, two));
}

// A server of an earlier version is there, which cannot read what makes a model forget.
TEST_F(ReplicasTest, WritesNothingThatAnotherServerCannotRead) {
  Replica one = Start("one", nullptr);
  ASSERT_TRUE(Eventually([&] {
    return database_->Number("SELECT (to_regclass('bandana.servers') IS NOT NULL)::int") == 1;
  }));
  ASSERT_TRUE(Eventually([&] { return database_->Count("bandana.servers") == 1; }));
  database_->Sql(
      "INSERT INTO bandana.servers(address, seen, reads, told)"
      " SELECT 'old:1', t, " +
      std::to_string(EntryKindOf(Encode(FadeRecord{})) - 1) +
      ", t FROM (SELECT now() + interval '1h' AS t) t");
  const std::string forgets = std::string(kPlain) + " half_life { seconds: 115200 }";
  ASSERT_THAT(one.registry->AddConfigured(SpecOf(forgets.c_str())), IsOk());
  ASSERT_TRUE(one.owns());
  ASSERT_EQ(Report(*one.model(), 1, 1), v1::APPLIED);
  absl::SleepFor(absl::Milliseconds(1500));  // longer than the model's thread ever sleeps
  EXPECT_EQ(Durable(*one.model()), 1u);
  database_->Sql("DELETE FROM bandana.servers WHERE address = 'old:1'");
  EXPECT_TRUE(Eventually([&] { return Durable(*one.model()) == 2; }));
  const std::lock_guard lock(mutex_);
  EXPECT_THAT(warnings_, ::testing::Contains(::testing::HasSubstr("server old:1 reads")));
  EXPECT_THAT(warnings_, ::testing::Contains(::testing::HasSubstr("every server reads")));
}

TEST_F(ReplicasTest, KnowsServersThatDoNotSayWhatTheyRead) {
  database_->Sql(
      "CREATE SCHEMA bandana AUTHORIZATION bandana; SET ROLE bandana;"
      "CREATE TABLE bandana.peer_version(one bool PRIMARY KEY DEFAULT true, version bigint);"
      "INSERT INTO bandana.peer_version(version) VALUES (1);"
      "CREATE TABLE bandana.servers(address text PRIMARY KEY, seen timestamptz NOT NULL);"
      "INSERT INTO bandana.servers VALUES ('old:1', now() + interval '1h')");
  Replica one = Start("one");
  ASSERT_TRUE(Eventually([&] { return one.owns(); }));
  EXPECT_EQ(database_->Count("bandana.servers WHERE told IS NULL"), 1);
  EXPECT_EQ(database_->Count("bandana.servers WHERE told = seen"), 1);
  const server::StoreView view = *one.log->Watch("another:1")->Look();
  EXPECT_EQ(view.kind_read, kEntryKindOfTheSilent);
  // One from before the columns comes back at the address of a newer one.
  database_->Sql(
      "INSERT INTO bandana.servers VALUES ('old:2', now() + interval '1h', 5, now())"
      " ON CONFLICT DO NOTHING");
  EXPECT_EQ(one.log->Watch("another:1")->Look()->kind_read, kEntryKindOfTheSilent);
  // A server that froze takes no model, and may come back.
  database_->Sql(
      "INSERT INTO bandana.servers SELECT 'frozen:1', t, 7, t"
      " FROM (SELECT now() - interval '30s' AS t) t");
  const server::StoreView with_frozen = *one.log->Watch("another:1")->Look();
  EXPECT_EQ(with_frozen.kind_read, 7);
  EXPECT_EQ(with_frozen.reads_least, "frozen:1");
  EXPECT_THAT(with_frozen.servers, ::testing::Not(::testing::Contains("frozen:1")));
}

}  // namespace
}  // namespace bandana::server
