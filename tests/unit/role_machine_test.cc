#include "server/models/replicas/role_machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "server/models/replicas/asked_names.h"
#include "server/models/replicas/ranks.h"

namespace bandana::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Action = RoleJob::Action;
using Role = ModelHere::Role;

const std::string kLog(16, 'l');
constexpr absl::Duration kLook = absl::Milliseconds(100);

// One server that looks at one model, m, in a store of two servers. The times of other servers are
// never its own.
class RoleMachineTest : public ::testing::Test {
 protected:
  RoleMachineTest() {
    const std::vector<std::string> both = {"a:1", "b:1"};
    first_ = FirstOf(kLog, both);
    second_ = first_ == "a:1" ? "b:1" : "a:1";
    model_.stored = {.name = "m", .made_at_run_time = false, .log = kLog, .versions = {}};
    Start(first_);
  }

  void Start(const std::string& self, bool asks_others = false) {
    machine_ = std::make_unique<RoleMachine>(
        RoleMachine::Options{.self = self, .asks_others = asks_others});
  }
  // The model is owned there, under this term.
  void OwnedBy(const std::string& owner, std::int64_t term) {
    model_.owned = true;
    model_.owner = owner;
    model_.term = term;
  }
  void OwnedByNobody() {
    model_.owned = false;
    model_.owner.clear();
  }
  void Follows() { here_ = {.role = Role::kFollower, .knows = true}; }
  void Owns(std::int64_t term) { here_ = {.role = Role::kOwner, .term = term}; }
  void IsAbsent() { here_ = {.configured = true, .passes = true}; }

  StoreView View() const {
    StoreView view;
    if (in_store_) view.models = {model_};
    view.servers = servers_;
    return view;
  }
  // The action that is due for the model at the next look.
  std::optional<Action> Look(absl::Duration later = kLook) {
    now_ += later;
    std::map<std::string, ModelHere> here;
    if (here_) here["m"] = *here_;
    std::optional<Action> due;
    for (const RoleJob& job : machine_->Due(View(), here, leaving_, now_)) {
      if (job.model != "m") continue;
      EXPECT_FALSE(due.has_value()) << "two jobs of one model";
      due = job.action;
    }
    return due;
  }
  // All that is due at looks over this time.
  std::vector<Action> LookFor(absl::Duration time) {
    std::vector<Action> all;
    for (absl::Duration t; t < time; t += kLook) {
      if (const auto due = Look()) all.push_back(*due);
    }
    return all;
  }

  std::string first_, second_;  // whose turn it is, and who comes next
  std::unique_ptr<RoleMachine> machine_;
  absl::Time now_ = absl::UnixEpoch() + absl::Hours(1);
  std::vector<std::string> servers_ = {"a:1", "b:1"};
  bool in_store_ = true;
  SharedModel model_;
  std::optional<ModelHere> here_;
  bool leaving_ = false;
};

TEST_F(RoleMachineTest, TheServerWhoseTurnItIsClaimsAtOnce) {
  OwnedBy(second_, 3);
  Follows();
  EXPECT_EQ(Look(), std::nullopt);
  OwnedByNobody();
  EXPECT_EQ(Look(), Action::kPromote);
}

TEST_F(RoleMachineTest, TheNextServerClaimsALittleLater) {
  Start(second_);
  OwnedBy(first_, 3);
  Follows();
  EXPECT_EQ(Look(), std::nullopt);
  OwnedByNobody();
  EXPECT_EQ(Look(), std::nullopt);
  EXPECT_EQ(Look(kClaimInterval - absl::Milliseconds(1)), std::nullopt);
  EXPECT_EQ(Look(absl::Milliseconds(1)), Action::kPromote);
}

TEST_F(RoleMachineTest, AnOwnerThatComesBackInTimeKeepsTheModel) {
  Start(second_);
  OwnedBy(first_, 3);
  Follows();
  Look();
  OwnedByNobody();
  EXPECT_EQ(Look(), std::nullopt);
  OwnedBy(first_, 4);
  EXPECT_EQ(Look(), std::nullopt);
  // The waiting begins anew.
  OwnedByNobody();
  EXPECT_EQ(Look(), std::nullopt);
  EXPECT_EQ(Look(kClaimInterval), Action::kPromote);
}

TEST_F(RoleMachineTest, ALeaseOfAnEarlierRunIsTakenUp) {
  Start(first_);
  OwnedBy("", 3);
  model_.mine = true;
  Follows();
  EXPECT_EQ(Look(), Action::kPromote);
}

TEST_F(RoleMachineTest, AClaimThatFailsIsTriedAtEachLook) {
  OwnedByNobody();
  Follows();
  EXPECT_THAT(LookFor(3 * kLook),
              ElementsAre(Action::kPromote, Action::kPromote, Action::kPromote));
}

TEST_F(RoleMachineTest, AServerThatLeavesClaimsNothingAndHandsNothingOver) {
  leaving_ = true;
  OwnedByNobody();
  Follows();
  EXPECT_THAT(LookFor(absl::Seconds(10)), IsEmpty());
  Start(second_);
  OwnedBy(second_, 3);
  Owns(3);
  EXPECT_THAT(LookFor(absl::Seconds(10)), IsEmpty());
}

TEST_F(RoleMachineTest, AnOwnerWhoseTermHasPassedStepsDown) {
  OwnedBy(first_, 3);
  Owns(3);
  EXPECT_EQ(Look(), std::nullopt);
  OwnedBy(second_, 4);  // the lease was lost
  EXPECT_EQ(Look(), Action::kStepDown);
  // A failure is tried again, once a second.
  EXPECT_THAT(LookFor(absl::Milliseconds(900)), IsEmpty());
  EXPECT_EQ(Look(), Action::kStepDown);
}

TEST_F(RoleMachineTest, AModelThatCouldNotBeFollowedIsOwnedAgain) {
  OwnedBy(second_, 3);
  Owns(3);
  here_->retired = true;
  EXPECT_EQ(Look(), Action::kOwnAgain);
  EXPECT_THAT(LookFor(absl::Milliseconds(900)), IsEmpty());
  EXPECT_EQ(Look(), Action::kOwnAgain);
}

TEST_F(RoleMachineTest, AModelIsHandedToANewServerOnceItHasSettled) {
  Start(second_);
  servers_ = {second_};
  OwnedBy(second_, 3);
  Owns(3);
  EXPECT_THAT(LookFor(absl::Seconds(20)), IsEmpty());
  servers_ = {"a:1", "b:1"};
  EXPECT_EQ(Look(), std::nullopt);
  EXPECT_EQ(Look(kSettled - absl::Milliseconds(1)), std::nullopt);
  EXPECT_EQ(Look(absl::Milliseconds(1)), Action::kStepDown);
  // Once per server: the other one did not take it.
  EXPECT_THAT(LookFor(absl::Seconds(20)), IsEmpty());
}

TEST_F(RoleMachineTest, AServerThatComesAndGoesIsGivenNothing) {
  Start(second_);
  OwnedBy(second_, 3);
  Owns(3);
  for (int i = 0; i < 10; ++i) {
    servers_ = {"a:1", "b:1"};
    EXPECT_THAT(LookFor(kSettled - absl::Seconds(1)), IsEmpty());
    servers_ = {second_};
    EXPECT_EQ(Look(), std::nullopt);
  }
  // It may have the model once it stays, also if it had it before.
  servers_ = {"a:1", "b:1"};
  EXPECT_THAT(LookFor(kSettled + absl::Seconds(1)), ElementsAre(Action::kStepDown));
}

TEST_F(RoleMachineTest, AFollowerThatMissedSomethingAsksOnceASecond) {
  Start(first_, /*asks_others=*/true);
  OwnedByNobody();
  Follows();
  here_->knows = false;
  EXPECT_EQ(Look(), Action::kConfirm);
  EXPECT_EQ(Look(), Action::kCompare);
  EXPECT_THAT(LookFor(absl::Milliseconds(800)), IsEmpty());
  EXPECT_EQ(Look(), Action::kConfirm);
  here_->knows = true;
  EXPECT_EQ(Look(), Action::kPromote);
}

TEST_F(RoleMachineTest, AFollowerIsComparedWithItsOwner) {
  Start(first_, /*asks_others=*/true);
  OwnedBy(second_, 3);
  Follows();
  EXPECT_EQ(Look(), Action::kCompare);
  EXPECT_THAT(LookFor(kCompareInterval - kLook), IsEmpty());
  EXPECT_EQ(Look(), Action::kCompare);
  Start(first_, /*asks_others=*/false);
  EXPECT_THAT(LookFor(absl::Seconds(20)), IsEmpty());
}

TEST_F(RoleMachineTest, AFollowerThatFellBehindIsOpenedAnew) {
  OwnedBy(second_, 3);
  Follows();
  here_->stale = true;
  EXPECT_EQ(Look(), Action::kFollowAnew);
  EXPECT_THAT(LookFor(absl::Milliseconds(900)), IsEmpty());
  EXPECT_EQ(Look(), Action::kFollowAnew);
}

TEST_F(RoleMachineTest, AFollowerTakesWhatItsOwnerMadeOfTheConfiguration) {
  OwnedBy(second_, 3);
  Follows();
  model_.stored.made_at_run_time = true;
  EXPECT_EQ(Look(), std::nullopt);
  model_.stored.versions.files = 7;
  EXPECT_EQ(Look(), Action::kTakeConfig);
  EXPECT_EQ(Look(), std::nullopt);
  // A configured model has its own.
  model_.stored.made_at_run_time = false;
  model_.stored.versions.files = 8;
  EXPECT_EQ(Look(), std::nullopt);
}

TEST_F(RoleMachineTest, AFollowerOfADeletedModelLetsGo) {
  in_store_ = false;
  Follows();
  EXPECT_EQ(Look(), Action::kLetGo);
  here_->configured = true;
  EXPECT_EQ(Look(), std::nullopt);
  Owns(3);
  EXPECT_EQ(Look(), std::nullopt);
}

TEST_F(RoleMachineTest, AModelThatAnotherServerMadeIsTakenIn) {
  OwnedBy(second_, 3);
  here_ = std::nullopt;
  EXPECT_EQ(Look(), std::nullopt);  // of its configuration file
  model_.stored.made_at_run_time = true;
  EXPECT_EQ(Look(), Action::kTakeIn);
  EXPECT_THAT(LookFor(absl::Milliseconds(900)), IsEmpty());
  EXPECT_EQ(Look(), Action::kTakeIn);
}

TEST_F(RoleMachineTest, AnAbsentModelIsTriedAgainWhereThatMayHelp) {
  OwnedByNobody();
  IsAbsent();
  EXPECT_THAT(LookFor(absl::Seconds(2)), ElementsAre(Action::kTakeIn, Action::kTakeIn));
  here_->opening = true;
  EXPECT_THAT(LookFor(absl::Seconds(2)), IsEmpty());
  here_->opening = false;
  here_->passes = false;
  EXPECT_THAT(LookFor(absl::Seconds(2)), IsEmpty());
  // An owner that serves vouches for what this server has no record of: once per term.
  OwnedBy(second_, 4);
  EXPECT_THAT(LookFor(absl::Seconds(3)), ElementsAre(Action::kTakeIn));
  OwnedBy(second_, 5);
  EXPECT_THAT(LookFor(absl::Seconds(3)), ElementsAre(Action::kTakeIn));
  // But not for what computes something else.
  here_->differs = true;
  OwnedBy(second_, 6);
  EXPECT_THAT(LookFor(absl::Seconds(3)), IsEmpty());
}

// A machine that slept: its steady clock has gone on meanwhile.
TEST_F(RoleMachineTest, AClockThatJumpsAheadMakesNoOwnerOfAServerThatSeesAnother) {
  Start(second_);
  OwnedBy(first_, 3);
  Follows();
  Look();
  EXPECT_EQ(Look(absl::Hours(24 * 365)), std::nullopt);
  // It sees the lease end after the jump: its turn is counted from then.
  OwnedByNobody();
  EXPECT_EQ(Look(), std::nullopt);
  EXPECT_EQ(Look(kClaimInterval), Action::kPromote);
}

TEST_F(RoleMachineTest, AClockThatJumpsBackClaimsNothingEarly) {
  Start(second_);
  OwnedByNobody();
  Follows();
  EXPECT_EQ(Look(), std::nullopt);
  EXPECT_EQ(Look(-absl::Hours(24)), std::nullopt);
  EXPECT_EQ(Look(kClaimInterval - absl::Milliseconds(1)), std::nullopt);
  EXPECT_EQ(Look(absl::Milliseconds(1)), Action::kPromote);
}

TEST_F(RoleMachineTest, AliasesAreFollowedOnceASecond) {
  int looks = 0;
  for (int i = 0; i < 30; ++i) {
    now_ += kLook;
    for (const RoleJob& job : machine_->Due(View(), {}, false, now_)) {
      looks += job.action == Action::kFollowAliases;
    }
  }
  EXPECT_EQ(looks, 3);
}

TEST_F(RoleMachineTest, OwnersThatOwnNothingAnyMoreAreTold) {
  OwnedBy(first_, 3);
  EXPECT_THAT(machine_->GoneOwners(View()), IsEmpty());
  OwnedBy(second_, 4);
  EXPECT_THAT(machine_->GoneOwners(View()), ElementsAre(first_));
  EXPECT_THAT(machine_->GoneOwners(View()), IsEmpty());
  OwnedByNobody();
  EXPECT_THAT(machine_->GoneOwners(View()), ElementsAre(second_));
}

// Some servers with a store of leases, all stepped by one clock.
class Store {
 public:
  struct Server {
    std::string address;
    RoleMachine machine;
    std::map<std::string, ModelHere> here;
    absl::Duration skew;  // of its steady clock, which began when its machine did
    bool up = true;       // it looks, and renews its leases
    bool looks = false;   // at this step
  };

  Store(int servers, int models) {
    for (int i = 0; i < models; ++i) {
      SharedModel model;
      model.stored.name = "m" + std::to_string(i);
      model.stored.log = "log " + std::to_string(i);
      models_.push_back(model);
      until_.push_back(absl::InfinitePast());
    }
    for (int i = 0; i < servers; ++i) {
      const std::string address = "s" + std::to_string(i) + ":1";
      servers_.push_back(std::make_unique<Server>(Server{
          .address = address, .machine = RoleMachine({.self = address}), .here = {}, .skew = {}}));
      servers_.back()->looks = i % 2 == 0;
      Restart(*servers_.back());
    }
  }

  std::vector<std::unique_ptr<Server>>& servers() { return servers_; }
  // It has lost what it knew; its models follow.
  void Restart(Server& server) {
    server.machine = RoleMachine({.self = server.address});
    server.here.clear();
    for (const SharedModel& model : models_) {
      server.here[model.stored.name] = {.role = Role::kFollower, .configured = true, .knows = true};
    }
    server.up = true;
  }
  void Step(std::mt19937_64& random) {
    now_ += absl::Milliseconds(50);
    for (const auto& server : servers_) {
      if (server->up) Renew(*server);
    }
    // Each looks every 100 ms, in any order.
    std::ranges::shuffle(servers_, random);
    for (const auto& server : servers_) {
      server->looks = !server->looks;
      if (server->up && server->looks) LookOf(*server);
    }
  }
  // Servers that take the model for their own in the present term, as a write would find.
  int WritersOf(std::size_t index) const {
    return static_cast<int>(std::ranges::count_if(servers_, [&](const auto& server) {
      const ModelHere& here = server->here.at(models_[index].stored.name);
      return here.role == Role::kOwner && here.term == models_[index].term;
    }));
  }
  // Whether each model is owned by the server whose turn it is.
  bool InOrder() const {
    const std::vector<std::string> up = Up();
    for (std::size_t i = 0; i < models_.size(); ++i) {
      if (WritersOf(i) != 1 || models_[i].owner != FirstOf(models_[i].stored.log, up)) return false;
    }
    return true;
  }
  std::size_t models() const { return models_.size(); }

 private:
  std::vector<std::string> Up() const {
    std::vector<std::string> up;
    for (const auto& server : servers_) {
      if (server->up) up.push_back(server->address);
    }
    std::ranges::sort(up);
    return up;
  }
  void Renew(const Server& server) {
    for (std::size_t i = 0; i < models_.size(); ++i) {
      const ModelHere& here = server.here.at(models_[i].stored.name);
      const bool owns = here.role == Role::kOwner && here.term == models_[i].term;
      if (owns && until_[i] >= now_) until_[i] = now_ + absl::Seconds(2);
    }
  }
  void LookOf(Server& server) {
    StoreView view;
    view.servers = Up();
    for (std::size_t i = 0; i < models_.size(); ++i) {
      models_[i].owned = until_[i] >= now_;
      if (!models_[i].owned) models_[i].owner.clear();
      view.models.push_back(models_[i]);
      view.models.back().mine = models_[i].owned && models_[i].owner == server.address;
    }
    for (const RoleJob& job : server.machine.Due(view, server.here, false, now_ + server.skew)) {
      if (!job.model.empty()) Run(server, job);
    }
  }
  void Run(Server& server, const RoleJob& job) {
    const auto i = static_cast<std::size_t>(std::stoi(job.model.substr(1)));
    ModelHere& here = server.here[job.model];
    if (job.action == Action::kPromote) {
      const bool free = until_[i] < now_ || models_[i].owner == server.address;
      if (!free) return;  // another one was faster
      models_[i].owner = server.address;
      until_[i] = now_ + absl::Seconds(2);
      here = {.role = Role::kOwner, .configured = true, .term = ++models_[i].term};
    } else if (job.action == Action::kStepDown) {
      if (here.term == models_[i].term) until_[i] = absl::InfinitePast();  // gives the log back
      here = {.role = Role::kFollower, .configured = true, .knows = true};
    } else {
      ADD_FAILURE() << "job " << static_cast<int>(job.action) << " of model " << job.model;
    }
  }

  absl::Time now_ = absl::UnixEpoch();
  std::vector<std::unique_ptr<Server>> servers_;
  std::vector<SharedModel> models_;
  std::vector<absl::Time> until_;  // the lease, by model
};

TEST(RolesOfManyTest, EveryModelFindsItsOwnerWhateverServersComeAndGo) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    Store store(/*servers=*/4, /*models=*/5);
    for (int round = 0; round < 12; ++round) {
      Store::Server& one = *store.servers()[random() % store.servers().size()];
      switch (random() % 4) {
        case 0:
          one.up = false;  // frozen: it does not know that its leases end
          break;
        case 1:
          one.up = true;  // thawed
          break;
        case 2:
          store.Restart(one);
          break;
        default:
          one.skew += absl::Hours(static_cast<std::int64_t>(random() % 100));
      }
      const int steps = static_cast<int>(random() % 100);
      for (int step = 0; step < steps; ++step) {
        store.Step(random);
        for (std::size_t i = 0; i < store.models(); ++i) ASSERT_LE(store.WritersOf(i), 1);
      }
    }
    for (const auto& server : store.servers()) server->up = true;
    // Leases of 2 s, 5 s until servers have settled, a hand-over, and the looks between.
    int steps = 0;
    while (!store.InOrder() && steps < 400) {
      store.Step(random);
      ++steps;
    }
    EXPECT_TRUE(store.InOrder()) << "after " << steps << " steps";
  }
}

TEST(AskedNamesTest, ANameMayBeNewUntilALookThatBeganAfterItWasAskedFor) {
  AskedNames asked;
  absl::Time now = absl::UnixEpoch() + absl::Hours(1);
  EXPECT_TRUE(asked.MayBeNew("m", now));
  EXPECT_TRUE(asked.MayBeNew("m", now + absl::Milliseconds(1)));
  asked.Looked(now - absl::Milliseconds(1));
  EXPECT_TRUE(asked.MayBeNew("m", now + absl::Milliseconds(2)));
  asked.Looked(now);
  EXPECT_FALSE(asked.MayBeNew("m", now + absl::Milliseconds(3)));
  EXPECT_TRUE(asked.MayBeNew("another", now + absl::Milliseconds(3)));
  // It is forgotten after a while.
  EXPECT_TRUE(asked.MayBeNew("m", now + absl::Seconds(3)));
}

}  // namespace
}  // namespace bandana::server
