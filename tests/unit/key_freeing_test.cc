// Effects of arms and groups that are gone, and of users who are deleted, as a hosted model frees
// them: when, what stays, and over restarts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/file.h"
#include "server/log/sqlite.h"
#include "server/log/state/folder_state.h"
#include "server/log/state/sqlite_table.h"
#include "server/models/catalogue/arm_store.h"
#include "server/models/folder/export.h"
#include "server/models/folder/folder_check.h"
#include "server/models/folder/recovery.h"
#include "server/models/freeing/leaving_keys.h"
#include "server/models/freeing/pairs_watch.h"
#include "server/models/users/user_batch.h"
#include "server/models/users/user_copy.h"
#include "tests/support/hosted_model_fixture.h"
#include "tests/support/status_matchers.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;

constexpr char kEffects[] = R"(
    effects { name: 'all' }
    effects { name: 'country' keys { user_group: 'country' } }
    effects { name: 'user' keys { user: true } }
    effects { name: 'arm' keys { arm: true } features: CONSTANT }
    effects { name: 'genre' keys { arm_group: 'genre' } features: CONSTANT }
    effects { name: 'taste' keys { user: true } keys { arm: true } features: CONSTANT }
    user_groups: ['country'] arm_groups: ['genre'] )";
constexpr absl::Duration kAfter = absl::Hours(10);

ModelSpec SpecWith(const std::string& more = "", const std::string& effects = kEffects) {
  return SpecOf(absl::StrCat("name: 'm' dimension: 2 mode: NON_PRIVATE ",
                             "reporting { one_per_decision: true } effects { ", effects,
                             "free_after { seconds: ", absl::ToInt64Seconds(kAfter), " } } ",
                             more));
}

struct Who {
  std::string user = "ann";
  std::string country = "fr";
  std::uint32_t arm = 1;
  std::string genre = "jazz";
};

class KeyFreeingTest : public HostedModelTest {
 protected:
  KeyFreeingTest() { options_.stepped = true; }

  void Start(const ModelSpec& spec) {
    model_.reset();
    model_ = Open(spec);
  }
  void Start() { Start(SpecWith()); }
  void Advance(absl::Duration by) {
    clock_.Advance(by);
    model_->Step();
  }
  void PutArms(const std::vector<std::pair<std::uint32_t, std::string>>& arms) {
    std::vector<CatalogueArm> put;
    for (const auto& [id, genre] : arms) {
      put.push_back({.id = id, .features = {1, 0}, .tags = {}});
      if (!genre.empty()) put.back().groups = {{"genre", genre}};
    }
    v1::PutArmsResponse response;
    ASSERT_THAT(model_->PutArms(put, &response), IsOk());
  }
  void RemoveArms(const std::vector<std::uint32_t>& ids) {
    ASSERT_THAT(model_->RemoveArms(ids), IsOk());
  }
  void PutUser(const std::string& id, const std::string& country) {
    auto batch = model_->NewUsers();
    ASSERT_THAT(batch, IsOk());
    v1::User user;
    user.set_id(id);
    if (!country.empty()) (*user.mutable_groups())["country"] = country;
    ASSERT_THAT(batch->Add(user), IsOk());
    v1::PutUsersResponse response;
    ASSERT_THAT(model_->PutUsers(*batch, &response), IsOk());
  }
  void Learn(const Who& who, double reward = 1) {
    Decision decision = DecisionOf(*model_, clock_, ++number_, {0.6, 0.8});
    decision.arms[0].keys = {UserKey(who.user), GroupKey("country", who.country), ArmKey(who.arm),
                             GroupKey("genre", who.genre)};
    model_->Report({{.decision = decision, .reward = reward}},
                   [](auto results) { EXPECT_EQ(results->front().code, v1::APPLIED); });
    model_->Step();
  }
  // Blocks of country, user, arm, genre and pairs.
  std::vector<std::uint64_t> Blocks() const {
    std::vector<std::uint64_t> blocks;
    const v1::GetStatsResponse stats = model_->Stats();
    for (const v1::EffectStats& effect : stats.effects().effects()) {
      if (effect.name() != "all") blocks.push_back(effect.blocks());
    }
    return blocks;
  }
  // The whole of the state that freeing concerns.
  std::string Effects() const {
    const auto exported = model_->Export();
    EXPECT_THAT(exported, IsOk());
    return server::DecodeExport(*exported)->checkpoint.effects;
  }
  std::uint64_t Freed() const { return model_->Stats().effects().freed(); }

  std::unique_ptr<HostedModel> model_;
  std::uint64_t number_ = 0;
};

TEST_F(KeyFreeingTest, ARemovedArmIsFreedInItsTime) {
  Start();
  PutArms({{1, "jazz"}, {2, "jazz"}});
  Learn({.arm = 1});
  Learn({.arm = 2});
  ASSERT_THAT(Blocks(), ElementsAre(1, 1, 2, 1, 2));
  RemoveArms({1, 77});
  Advance(kAfter - absl::Seconds(1));
  EXPECT_THAT(Blocks(), ElementsAre(1, 1, 2, 1, 2));
  EXPECT_THAT(warnings_, IsEmpty());
  Advance(absl::Seconds(1));
  EXPECT_THAT(Blocks(), ElementsAre(1, 1, 1, 1, 1));
  EXPECT_EQ(Freed(), 1);
  EXPECT_THAT(warnings_, ElementsAre("freed effects of 1 arms, 0 groups"));
  const std::uint64_t entries = model_->Stats().log_sequence();
  Advance(kAfter);
  EXPECT_EQ(model_->Stats().log_sequence(), entries);  // once
}

TEST_F(KeyFreeingTest, AnArmThatIsPutBackInTimeKeepsItsEffects) {
  Start();
  PutArms({{1, "jazz"}});
  Learn({});
  RemoveArms({1});
  Advance(kAfter / 2);
  PutArms({{1, "jazz"}});
  Advance(kAfter);
  EXPECT_THAT(Blocks(), ElementsAre(1, 1, 1, 1, 1));
  RemoveArms({1});  // its time begins anew
  Advance(kAfter - absl::Seconds(1));
  EXPECT_THAT(Blocks(), ElementsAre(1, 1, 1, 1, 1));
  Advance(absl::Seconds(1));
  EXPECT_THAT(Blocks(), ElementsAre(1, 1, 0, 0, 0));
  PutArms({{1, "jazz"}});
  Learn({});
  EXPECT_THAT(Blocks(), ElementsAre(1, 1, 1, 1, 1));
}

TEST_F(KeyFreeingTest, ARestartLosesNoTime) {
  Start();
  PutArms({{1, "jazz"}, {2, "rock"}});
  PutUser("ann", "fr");
  Learn({});
  RemoveArms({1});
  PutUser("ann", "de");
  Advance(kAfter / 2);
  Start();
  Advance(kAfter / 2 - absl::Seconds(1));
  EXPECT_THAT(Blocks(), ElementsAre(1, 1, 1, 1, 1));
  model_.reset();
  clock_.Advance(absl::Hours(1));  // the time comes while nobody serves
  Start();
  model_->Step();
  EXPECT_THAT(Blocks(), ElementsAre(0, 1, 0, 0, 0));
  EXPECT_THAT(warnings_, ElementsAre("freed effects of 1 arms, 2 groups"));
  Start();
  model_->Step();
  EXPECT_THAT(Blocks(), ElementsAre(0, 1, 0, 0, 0));
  EXPECT_EQ(Freed(), 0);  // since the start
}

TEST_F(KeyFreeingTest, AGroupGoesWithItsLastArm) {
  Start();
  PutArms({{1, "jazz"}, {2, "jazz"}, {3, "rock"}});
  Learn({.arm = 1});
  RemoveArms({1, 1});
  PutArms({{2, "rock"}});  // nobody is in jazz
  PutArms({{3, "folk"}});  // arm 2 is in rock
  Advance(kAfter / 2);
  PutArms({{3, "jazz"}});
  Advance(kAfter);
  EXPECT_THAT(Blocks(), ElementsAre(1, 1, 0, 1, 0));  // only the arm
  RemoveArms({3});
  Advance(kAfter);
  EXPECT_THAT(Blocks(), ElementsAre(1, 1, 0, 0, 0));
}

TEST_F(KeyFreeingTest, AGroupGoesWithItsLastUser) {
  Start();
  PutUser("ann", "fr");
  PutUser("bob", "fr");
  Learn({.user = "ann"});
  Learn({.user = "zoe", .country = "de"});  // no user of the table is in de: it never left
  PutUser("ann", "at");
  Advance(kAfter);
  EXPECT_THAT(Blocks(), ElementsAre(2, 2, 1, 1, 2));
  PutUser("bob", "");
  Advance(kAfter / 2);
  PutUser("eve", "fr");
  Advance(kAfter);
  EXPECT_THAT(Blocks(), ElementsAre(2, 2, 1, 1, 2));
  PutUser("eve", "at");
  Advance(kAfter);
  EXPECT_THAT(Blocks(), ElementsAre(1, 2, 1, 1, 2));
  EXPECT_THAT(warnings_, ElementsAre("freed effects of 0 arms, 1 groups"));
}

TEST_F(KeyFreeingTest, NoTimeMeansAtOnceAndMayChangeAtARestart) {
  Start();
  PutArms({{1, "jazz"}});
  Learn({});
  RemoveArms({1});
  std::string effects = absl::StrCat(kEffects, "free_after {} ");
  const auto now =
      SpecOf(absl::StrCat("name: 'm' dimension: 2 mode: NON_PRIVATE ",
                          "reporting { one_per_decision: true } effects { ", effects, " }"));
  ASSERT_EQ(now.effects->free_after, absl::ZeroDuration());
  Start(now);
  model_->Step();
  EXPECT_THAT(Blocks(), ElementsAre(1, 1, 0, 0, 0));
}

TEST_F(KeyFreeingTest, ManyArmsAreFreedInSeveralEntries) {
  Start();
  std::vector<std::pair<std::uint32_t, std::string>> arms;
  std::vector<std::uint32_t> ids;
  for (std::uint32_t id = 0; id < 2500; ++id) {
    arms.emplace_back(id, "");
    ids.push_back(id);
  }
  PutArms(arms);
  for (const std::uint32_t id : {0u, 1100u, 2499u}) Learn({.arm = id});
  const std::uint64_t entries = model_->Stats().log_sequence();
  RemoveArms(ids);
  Advance(kAfter);
  EXPECT_THAT(Blocks(), ElementsAre(1, 1, 0, 1, 0));
  EXPECT_EQ(model_->Stats().log_sequence(), entries + 3);
  EXPECT_EQ(Freed(), 3);
  EXPECT_THAT(warnings_, ElementsAre("freed effects of 2500 arms, 0 groups"));
}

// With and without a checkpoint behind the entries.
TEST_F(KeyFreeingTest, TheLogGivesTheSameStateAgain) {
  Start();
  PutArms({{1, "jazz"}, {2, "rock"}});
  for (std::uint32_t i = 0; i < 60; ++i) {
    Learn({.user = absl::StrCat("u", i % 4), .arm = 1 + i % 2}, 0.1 * (i % 9));
    if (i == 10) {
      ASSERT_THAT(model_->Checkpoint(), IsOk());
    }
    if (i == 20) RemoveArms({1});
    if (i == 30) Advance(kAfter);
    if (i == 50) {
      ASSERT_THAT(model_->DeleteUsers(std::vector<std::string>{"u2"}), IsOk());
      clock_.Advance(absl::Seconds(1));  // earlier decisions are refused
    }
  }
  const std::string before = Effects();
  Start();  // from the checkpoint, over all entries behind it
  EXPECT_TRUE(Effects() == before);
  ASSERT_THAT(model_->Checkpoint(), IsOk());
  Start();
  EXPECT_TRUE(Effects() == before);
}

TEST_F(KeyFreeingTest, DeletedUsersAreForgotten) {
  Start();
  PutUser("ann", "fr");
  PutUser("bob", "fr");
  PutUser("cyd", "de");
  Learn({.user = "ann"});
  Learn({.user = "guest"});
  const std::vector<std::string> ids = {"ann", "guest", "cyd", "nobody", "ann"};
  auto response = model_->DeleteUsers(ids);
  ASSERT_THAT(response, IsOk());
  EXPECT_EQ(response->deleted(), 3);  // groups and effects, effects, groups
  EXPECT_EQ(response->users(), 1);
  EXPECT_THAT(Blocks(), ElementsAre(1, 0, 1, 1, 0));
  EXPECT_EQ(Freed(), 2);
  std::vector<EffectKey> parts;
  model_->UserParts("ann", parts);
  EXPECT_THAT(parts, ElementsAre(UserKey("ann"), kAbsent));
  model_->UserParts("bob", parts);
  EXPECT_THAT(parts, ElementsAre(UserKey("bob"), GroupKey("country", "fr")));
  response = model_->DeleteUsers(ids);
  ASSERT_THAT(response, IsOk());
  EXPECT_EQ(response->deleted(), 0);
  Start();
  EXPECT_THAT(Blocks(), ElementsAre(1, 0, 1, 1, 0));
  EXPECT_EQ(model_->Stats().user_groups().users(), 1);
  // The last user of fr starts the group's clock.
  ASSERT_THAT(model_->DeleteUsers(std::vector<std::string>{"bob"}), IsOk());
  Advance(kAfter);
  EXPECT_THAT(Blocks(), ElementsAre(0, 0, 1, 1, 0));
  model_.reset();
  for (const char* file : {"users.sqlite", "log.sqlite"}) {
    const auto bytes = ReadFile(folder_.File(file), 100 << 20);
    ASSERT_THAT(bytes, IsOk());
    for (const char* id : {"ann", "guest", "cyd"}) {
      EXPECT_THAT(*bytes, ::testing::Not(HasSubstr(id))) << file;
    }
  }
}

TEST_F(KeyFreeingTest, DeletionSaysWhatIsWrong) {
  Start();
  const auto status = [&](const std::vector<std::string>& ids) {
    return model_->DeleteUsers(ids).status();
  };
  EXPECT_THAT(status({}), StatusIs(absl::StatusCode::kInvalidArgument, "ids: must be 1 to 1000"));
  EXPECT_THAT(status(std::vector<std::string>(1001, "a")),
              StatusIs(absl::StatusCode::kInvalidArgument, "ids: must be 1 to 1000, got 1001"));
  EXPECT_THAT(status({"ann", std::string(129, 'a')}),
              StatusIs(absl::StatusCode::kInvalidArgument, "ids[1]: must have 1 to 128 bytes"));
  EXPECT_THAT(status({""}), StatusIs(absl::StatusCode::kInvalidArgument, "ids[0]: "));
}

TEST_F(KeyFreeingTest, ModelsThatKnowNoUsersRefuseDeletion) {
  const std::vector<std::string> ids = {"ann"};
  EXPECT_THAT(Open(SharedSpec())->DeleteUsers(ids),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "model m knows nothing of single users: its coupling is shared"));
  TempDir other;
  const auto arms = SpecWith("", "effects { name: 'arm' keys { arm: true } features: CONSTANT } ");
  const auto without = HostedModel::Open(arms, other.path(), clock_, options_);
  ASSERT_THAT(without, IsOk());
  EXPECT_THAT((*without)->DeleteUsers(ids),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "model m knows nothing of single users: its user_groups is empty"));
  // Effects of users alone, without groups.
  TempDir third;
  const auto users =
      HostedModel::Open(SpecWith("", "standard {} "), third.path(), clock_, options_);
  ASSERT_THAT(users, IsOk());
  EXPECT_THAT((*users)->DeleteUsers(ids), IsOk());
}

TEST_F(KeyFreeingTest, TheModelsOwnThreadsFree) {
  options_.stepped = false;
  Start();
  PutArms({{1, "jazz"}, {2, "jazz"}});
  PutUser("ann", "fr");
  Learn({.arm = 1});
  Learn({.arm = 2});
  WaitApplied(*model_);
  RemoveArms({1});
  clock_.Advance(kAfter);
  EXPECT_TRUE(Eventually([&] { return Freed() == 1; }));
  WaitApplied(*model_);
  EXPECT_THAT(Blocks(), ElementsAre(1, 1, 1, 1, 1));
  ASSERT_THAT(model_->DeleteUsers(std::vector<std::string>{"ann"}), IsOk());
  EXPECT_THAT(Blocks(), ElementsAre(1, 0, 1, 1, 0));
}

TEST_F(KeyFreeingTest, ADamagedListIsFound) {
  Start();
  PutArms({{1, "jazz"}, {2, "jazz"}});
  RemoveArms({1});
  model_.reset();
  const std::string path = folder_.File("arms.sqlite");
  {
    auto file = *server::OpenSqlite(path, "");
    ASSERT_THAT(file.Exec("UPDATE left_keys SET since = since + 1"), IsOk());
  }
  EXPECT_THAT(TryOpen(SpecWith()).status(), StatusIs(absl::StatusCode::kDataLoss, "model m: "));
  const auto verdict = server::CheckModelFolder(folder_.path(), nullptr);
  EXPECT_FALSE(verdict.whole());
}

TEST_F(KeyFreeingTest, AListIsCopiedWithItsFile) {
  Start();
  PutUser("ann", "fr");
  PutUser("ann", "de");
  Advance(absl::Seconds(5));
  PutUser("ann", "");
  model_.reset();
  const std::string from = folder_.File("users.sqlite");
  const std::string to = folder_.File("copy.sqlite");
  ASSERT_THAT(server::CopyUserTable(server::SqliteTableAt(server::TableKind::kUsers, from),
                                    server::SqliteTableAt(server::TableKind::kUsers, to)),
              IsOk());
  auto copy = *server::OpenSqlite(to, "");
  const auto keys = server::ReadLeftKeys(copy);
  ASSERT_THAT(keys, IsOk());
  ASSERT_EQ(keys->size(), 2);
  EXPECT_EQ((*keys)[0].key, GroupKey("country", "fr"));
  EXPECT_EQ((*keys)[1].key, GroupKey("country", "de"));
  EXPECT_EQ((*keys)[1].since - (*keys)[0].since, absl::Seconds(5));
}

// The keys come again after a crash between the entry and the list.
TEST_F(KeyFreeingTest, AnEntryThatComesTwiceSaysNothingNew) {
  Start();
  PutArms({{1, "jazz"}, {2, "jazz"}});
  Learn({.arm = 1});
  Learn({.arm = 2});
  RemoveArms({1});
  model_.reset();
  const std::string path = folder_.File("arms.sqlite");
  std::vector<server::LeftKey> listed;
  {
    auto file = *server::OpenSqlite(path, "");
    listed = *server::ReadLeftKeys(file);
  }
  ASSERT_EQ(listed.size(), 1);
  Start();
  Advance(kAfter);
  const std::string once = Effects();
  model_.reset();
  {
    auto file = *server::OpenSqlite(path, "");
    ASSERT_THAT(*server::ReadLeftKeys(file), IsEmpty());
    ASSERT_THAT(
        server::NoteKeys(file, {.returned = {}, .left = {listed[0].key}, .now = listed[0].since}),
        IsOk());
  }
  Start();
  model_->Step();
  EXPECT_TRUE(Effects() == once);
  EXPECT_EQ(Freed(), 0);
}

// A former version knows no such list, and puts back what stands on it.
TEST_F(KeyFreeingTest, WhatAFormerVersionPutBackIsNotFreed) {
  Start();
  PutArms({{1, "jazz"}, {2, "rock"}});
  Learn({});
  RemoveArms({1});
  model_.reset();
  {
    auto store = *server::ArmStore::Open(folder_.File("arms.sqlite"));
    const CatalogueArm arm{.id = 1, .features = {1, 0}, .tags = {}, .groups = {{"genre", "jazz"}}};
    ASSERT_THAT(store.Put({&arm, 1}), IsOk());
  }
  Start();
  Advance(kAfter);
  EXPECT_THAT(Blocks(), ElementsAre(1, 1, 1, 1, 1));
}

TEST_F(KeyFreeingTest, PairsNearTheirLimitAreALineEach) {
  Start(SpecWith("", absl::StrCat(kEffects, "pairs_max: 10 ")));
  const auto learn = [&](std::uint32_t first, std::uint32_t last) {
    for (std::uint32_t arm = first; arm <= last; ++arm) Learn({.arm = arm});
  };
  learn(1, 7);
  EXPECT_THAT(warnings_, IsEmpty());
  learn(8, 9);
  EXPECT_THAT(warnings_, ElementsAre("effects: 8 pairs are taken, pairs_max is 10"));
  learn(10, 14);
  ASSERT_EQ(warnings_.size(), 2);
  EXPECT_THAT(warnings_[1], HasSubstr("all 10 pairs of pairs_max are taken"));
  EXPECT_EQ(model_->Stats().effects().pairs(), 10);
  EXPECT_EQ(model_->Stats().effects().pairs_max(), 10);
  EXPECT_GT(model_->Stats().effects().bytes(), 0);
  EXPECT_NEAR(model_->Stats().effects().effects(3).prior_variance(), 0.03, 1e-6);
}

}  // namespace
}  // namespace bandana::server
