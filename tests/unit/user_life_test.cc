// The life of a model's users: put, listed, exported, deleted. Deletion must do as much for every
// kind of model that knows its users.
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "common/bandits/statistics.h"
#include "common/base/file.h"
#include "common/base/status.h"
#include "common/design/planner/served_config.h"
#include "common/model/entries/records.h"
#include "server/models/folder/export.h"
#include "server/models/folder/stored_config.h"
#include "server/models/hosted_model.h"
#include "tests/support/hosted_model_fixture.h"
#include "tests/support/status_matchers.h"

namespace bandana::testing {
namespace {

constexpr char kGone[] = "a-recognisable-id-of-a-user";
constexpr char kEve[] = "eve-whom-nothing-else-is-called";
constexpr auto kNotNow = absl::StatusCode::kFailedPrecondition;

std::shared_ptr<const NoiseKey> KeyOf(int fill) {
  std::array<std::byte, 32> bytes{};
  bytes.fill(static_cast<std::byte>(fill));
  return std::make_shared<const NoiseKey>(*NoiseKey::FromBytes(bytes));
}

// How often the text stands in files below the folder.
int Found(const std::string& folder, std::string_view text) {
  int found = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(file)), {});
    for (std::size_t at = bytes.find(text); at != std::string::npos;
         at = bytes.find(text, at + 1)) {
      ++found;
    }
  }
  return found;
}

// Equal sums, from posteriors that rounded on different paths.
void ExpectNear(const std::vector<double>& a, const std::vector<double>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-9 * (1 + std::abs(b[i])));
}

class UserLifeTest : public HostedModelTest {
 protected:
  UserLifeTest() { options_.noise_key = KeyOf(7); }

  void Start(const ModelSpec& spec) {
    model_.reset();
    model_ = Open(spec);
  }
  Decision Decide(const std::string& user) {
    const double x = 0.1 * static_cast<double>(++number_ % 7);
    return DecisionOf(*model_, clock_, number_, {0.6 - x, 0.3 + x}, user);
  }
  // The answer to a report of a decision, which is an event then, where it was taken.
  absl::StatusOr<ReportResult> Learn(const Decision& decision) {
    EXPECT_THAT(model_->RecordDecision(decision), IsOk());
    const auto result = ReportOne(*model_, decision, 1);
    WaitApplied(*model_);
    if (CodeOf(result) == v1::APPLIED) CloseWindows();
    return result;
  }
  absl::StatusOr<ReportResult> Learn(const std::string& user) {
    clock_.Advance(absl::Seconds(1));
    return Learn(Decide(user));
  }
  // Where there are any: an entry closes all that are due.
  void CloseWindows() {
    if (!windows()) return;
    const std::uint64_t before = model_->Stats().log_sequence();
    clock_.Advance(absl::Hours(1));
    EXPECT_TRUE(Eventually([&] { return model_->Stats().log_sequence() > before; }));
    WaitApplied(*model_);
  }
  bool windows() const { return model_->spec().public_spec.reward_window.has_value(); }
  absl::StatusOr<v1::DeleteUsersResponse> Delete(const std::vector<std::string>& ids) {
    return model_->DeleteUsers(ids);
  }
  NodePosterior PosteriorOf(const std::string& user) {
    WaitApplied(*model_);
    const auto node = model_->ResolveUser(user);
    EXPECT_THAT(node, IsOk());
    return NodeOf(*model_->posterior(), *node);
  }
  std::vector<std::string> Listed(const std::string& after = "", std::uint32_t limit = 0) {
    const auto page = model_->ListUsers(after, limit);
    EXPECT_THAT(page, IsOk());
    std::vector<std::string> ids;
    for (const v1::User& user : page->users()) ids.push_back(user.id());
    return ids;
  }
  absl::Status PutNode(const std::string& id, int node) {
    auto batch = model_->NewUsers();
    if (!batch.ok()) return batch.status();
    v1::User user;
    user.set_id(id);
    user.set_node(static_cast<std::uint32_t>(node));
    const absl::Status added = batch->Add(user);
    return added.ok() ? model_->PutUsers(*batch, &put_) : added;
  }

  std::unique_ptr<HostedModel> model_;
  std::uint64_t number_ = 0;
  v1::PutUsersResponse put_;
};

struct Kind {
  const char* name;
  const char* config;
  bool counted = false;  // a promise counts the events of a user
};

class EveryKindTest : public UserLifeTest, public ::testing::WithParamInterface<Kind> {
 protected:
  ModelSpec Spec() const {
    return SpecOf(absl::StrCat("name: 'm' dimension: 2 independent {} refresh_interval {} ",
                               GetParam().config));
  }
};

TEST_P(EveryKindTest, ADeletedUserIsGone) {
  Start(Spec());
  for (int i = 0; i < 30; ++i) {
    ASSERT_EQ(CodeOf(Learn(i % 3 == 0 ? kGone : absl::StrCat("user", i % 5))), v1::APPLIED);
    if (i == 10 || i == 20) {
      ASSERT_THAT(model_->Checkpoint(), IsOk());
    }
  }
  const Decision open = Decide(kGone);
  const NodePosterior other = PosteriorOf("user1");
  ASSERT_EQ(StatisticsOf(*model_)[*model_->ResolveUser(kGone)].events, 10u);
  ASSERT_GT(Found(folder_.path(), kGone), 0);

  const auto deleted = Delete({kGone, "nobody", kGone});
  ASSERT_THAT(deleted, IsOk());
  EXPECT_EQ(deleted->deleted(), 1u);
  EXPECT_EQ(deleted->users(), 5u);
  const auto check = [&] {
    EXPECT_EQ(Found(folder_.path(), kGone), 0);
    EXPECT_EQ(*model_->ResolveUser(kGone), -1);
    EXPECT_EQ(NodeOf(*model_->posterior(), 0).mean, PosteriorOf("nobody").mean);
    ExpectNear(PosteriorOf("user1").mean, other.mean);
    ExpectNear(PosteriorOf("user1").covariance, other.covariance);
    EXPECT_THAT(Listed(), ElementsAre("user0", "user1", "user2", "user3", "user4"));
    const auto exported = model_->Export();
    ASSERT_THAT(exported, IsOk());
    EXPECT_EQ(exported->find(kGone), std::string::npos);
    const NodeStatistics sums = server::DecodeExport(*exported)->checkpoint.statistics[0];
    EXPECT_EQ(sums.events, 0u);
    EXPECT_EQ(sums.gram, EmptyStatistics(static_cast<int>(sums.moment.size())).gram);
    EXPECT_EQ(ReasonOf(ReportOne(*model_, open, 1)), model_->spec().public_spec.reward_window
                                                         ? v1::REJECT_REASON_UNSPECIFIED
                                                         : v1::TOKEN_FOREIGN);
    EXPECT_EQ(model_->Stats().nodes(), 6u);
  };
  check();
  Start(Spec());
  check();
  EXPECT_THAT(Delete({kGone}), IsOk());
  EXPECT_THAT(warnings_, IsEmpty());
}

// Whoever comes back is a new user, at once or with the next epoch.
TEST_P(EveryKindTest, WhoComesBackIsNew) {
  Start(Spec());
  ASSERT_EQ(CodeOf(Learn(kGone)), v1::APPLIED);
  ASSERT_EQ(CodeOf(Learn("other")), v1::APPLIED);
  ASSERT_THAT(Delete({kGone}), IsOk());
  if (GetParam().counted) {
    for (const bool restarted : {false, true}) {
      if (restarted) Start(Spec());
      const auto refused = Learn(kGone);
      EXPECT_EQ(CodeOf(refused), windows() ? v1::EXPIRED : v1::REJECTED);
      if (!windows()) {
        EXPECT_EQ(ReasonOf(refused), v1::USER_LIMIT);
      }
      EXPECT_EQ(*model_->ResolveUser(kGone), -1);
    }
    ASSERT_THAT(model_->OpenEpoch(), IsOk());
  }
  EXPECT_EQ(CodeOf(Learn(kGone)), v1::APPLIED);
  EXPECT_EQ(*model_->ResolveUser(kGone), 2);
  const NodePosterior before = PosteriorOf(kGone);
  Start(Spec());  // over the entries behind the deletion's checkpoint
  EXPECT_EQ(*model_->ResolveUser(kGone), 2);
  ExpectNear(PosteriorOf(kGone).mean, before.mean);
  ASSERT_THAT(Delete({kGone}), IsOk());
  EXPECT_EQ(Found(folder_.path(), kGone), 0);
}

constexpr char kCounter[] =
    "reward_min: -1 reward_max: 3 privacy { epsilon: 2 delta: 1e-6 mechanism: COUNTER"
    " counter { horizon: 100 steps_max: 200 } } ";
const std::string& Text(const std::string& a, const std::string& b) {
  static std::deque<std::string> texts;
  return texts.emplace_back(a + b);
}
constexpr char kOnce[] = " reporting { one_per_decision: true }";
constexpr char kWindow[] =
    " reporting { reward_window { duration { seconds: 60 } default_reward: 0.25 } }";

INSTANTIATE_TEST_SUITE_P(
    Kinds, EveryKindTest,
    ::testing::Values(
        Kind{"plain", "mode: NON_PRIVATE"},
        Kind{"plain_window", Text("mode: NON_PRIVATE", kWindow).c_str()},
        Kind{"device", Text("mode: LOCAL_REWARD privacy { epsilon: 1 } ", kOnce).c_str()},
        Kind{"device_counted",
             Text("mode: LOCAL_REWARD privacy { epsilon: 1 events_per_user_max: 50 } ", kOnce)
                 .c_str(),
             true},
        Kind{"central", Text(std::string("mode: CENTRAL_REWARD ") + kCounter, kOnce).c_str(), true},
        Kind{"central_window",
             Text(std::string("mode: CENTRAL_REWARD ") + kCounter, kWindow).c_str(), true},
        Kind{
            "central_randomizer",
            Text("mode: CENTRAL_REWARD privacy { epsilon: 1 mechanism: REWARD_RANDOMIZER } ", kOnce)
                .c_str(),
            true},
        Kind{"joint", Text(std::string("mode: JOINT ") + kCounter, kOnce).c_str(), true}),
    [](const auto& info) { return info.param.name; });

TEST_F(UserLifeTest, AnOpenWindowOfADeletedUserIsNoEvent) {
  const std::string config =
      "name: 'm' dimension: 2 mode: NON_PRIVATE independent {} reporting { reward_window {"
      " duration { seconds: 60 } default_reward: 0.25 } }";
  Start(SpecOf(config));
  const Decision gone = Decide(kGone);
  const Decision other = Decide("other");
  ASSERT_THAT(model_->RecordDecision(gone), IsOk());
  ASSERT_THAT(model_->RecordDecision(other), IsOk());
  ASSERT_EQ(CodeOf(ReportOne(*model_, gone, 1)), v1::APPLIED);
  ASSERT_THAT(Delete({kGone}), IsOk());
  EXPECT_EQ(ReasonOf(ReportOne(*model_, gone, 1)), v1::TOKEN_FOREIGN);
  Start(SpecOf(config));
  EXPECT_EQ(ReasonOf(ReportOne(*model_, gone, 1)), v1::TOKEN_FOREIGN);
  EXPECT_EQ(CodeOf(ReportOne(*model_, other, 1)), v1::APPLIED);
  EXPECT_EQ(Found(folder_.path(), kGone), 0);
  clock_.Advance(absl::Hours(1));
  EXPECT_TRUE(Eventually([&] { return NodeOf(*model_->posterior(), 1).mean[0] != 0; }));
  WaitApplied(*model_);
  const std::vector<NodeStatistics> sums = StatisticsOf(*model_);
  EXPECT_EQ(sums[0].events, 0u);
  EXPECT_EQ(sums[1].events, 1u);
}

// Who was deleted and came back is not deleted again with others.
TEST_F(UserLifeTest, ADeletionReachesNobodysOpenWindowButItsOwn) {
  const ModelSpec spec = SpecOf(
      "name: 'm' dimension: 2 mode: NON_PRIVATE effects { standard {} } reporting {"
      " reward_window { duration { seconds: 60 } default_reward: 0.25 } }");
  Start(spec);
  const auto open = [&](const std::string& user) {
    clock_.Advance(absl::Seconds(1));
    Decision decision = Decide(user);
    decision.user.clear();
    decision.node = 0;
    model_->UserParts(user, decision.arms[0].keys);
    decision.arms[0].keys.push_back(ArmKey(7));
    EXPECT_THAT(model_->RecordDecision(decision), IsOk());
    EXPECT_EQ(CodeOf(ReportOne(*model_, decision, 1)), v1::APPLIED);
  };
  open("ann");
  open("bea");
  ASSERT_THAT(Delete({"ann"}), IsOk());
  clock_.Advance(absl::Seconds(1));
  open("ann");
  ASSERT_THAT(Delete({"bea"}), IsOk());
  Start(spec);
  CloseWindows();
  EXPECT_GT(model_->ExportUser("ann")->effects_size(), 0);
  EXPECT_THAT(model_->ExportUser("bea"), StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(UserLifeTest, AnExportHasWhatOpenWindowsHold) {
  Start(
      SpecOf("name: 'm' dimension: 2 mode: NON_PRIVATE independent {} reporting { reward_window {"
             " duration { seconds: 60 } default_reward: 0.25 } }"));
  const Decision mine = Decide("ann");
  const Decision unreported = Decide("ann");
  const Decision other = Decide("bea");
  for (const Decision& decision : {mine, unreported, other}) {
    ASSERT_THAT(model_->RecordDecision(decision), IsOk());
  }
  ASSERT_EQ(CodeOf(ReportOne(*model_, mine, 0.75)), v1::APPLIED);
  ASSERT_EQ(CodeOf(ReportOne(*model_, other, 0.5)), v1::APPLIED);
  WaitApplied(*model_);
  const auto exported = model_->ExportUser("ann");
  ASSERT_THAT(exported, IsOk());
  std::vector<ClosedWindow> held;
  for (const v1::UserEntry& entry : exported->entries()) {
    if (entry.kind() != "held") continue;
    const auto record = Decode(entry.record(), 2);
    ASSERT_THAT(record, IsOk());
    const auto& windows = std::get<CloseRecord>(*record).windows;
    held.insert(held.end(), windows.begin(), windows.end());
  }
  ASSERT_EQ(held.size(), 1u);
  EXPECT_EQ(held[0].id, mine.id);
  EXPECT_EQ(held[0].reward, 0.75);
}

TEST_F(UserLifeTest, AStartFinishesAnErasure) {
  Start(IndependentSpec());
  ASSERT_EQ(CodeOf(Learn("ann")), v1::APPLIED);
  model_.reset();
  ASSERT_THAT(WriteFileDurably(folder_.File("erasing"), "", 0600), IsOk());
  ASSERT_THAT(
      WriteFileDurably(folder_.File("damaged-checkpoint-00000000000000000001"), kGone, 0600),
      IsOk());
  Start(IndependentSpec());
  EXPECT_FALSE(std::filesystem::exists(folder_.File("erasing")));
  EXPECT_TRUE(std::filesystem::exists(folder_.File("checkpoint-00000000000000000001.copy")));
  EXPECT_EQ(Found(folder_.path(), kGone), 0);
  EXPECT_EQ(StatisticsOf(*model_)[0].events, 1u);
  ASSERT_EQ(CodeOf(Learn("ann")), v1::APPLIED);
  ASSERT_THAT(model_->Checkpoint(), IsOk());
  Start(IndependentSpec());
  EXPECT_EQ(StatisticsOf(*model_)[0].events, 2u);
}

TEST_F(UserLifeTest, DeletedUsersDoNotCountAgainstTheLimit) {
  Start(IndependentSpec("", "users_max: 2"));
  ASSERT_EQ(CodeOf(Learn("ann")), v1::APPLIED);
  ASSERT_EQ(CodeOf(Learn("bob")), v1::APPLIED);
  EXPECT_EQ(ReasonOf(Learn("cyd")), v1::USER_LIMIT);
  ASSERT_THAT(Delete({"ann"}), IsOk());
  EXPECT_EQ(CodeOf(Learn("cyd")), v1::APPLIED);
  EXPECT_EQ(ReasonOf(Learn("dan")), v1::USER_LIMIT);
  Start(IndependentSpec("", "users_max: 2"));
  EXPECT_EQ(CodeOf(Learn("cyd")), v1::APPLIED);
  EXPECT_EQ(ReasonOf(Learn("dan")), v1::USER_LIMIT);
}

TEST_F(UserLifeTest, UsersAreListedInPages) {
  Start(IndependentSpec());
  for (const char* user : {kEve, "ann", "bob", "dan", "cyd"}) {
    ASSERT_EQ(CodeOf(Learn(user)), v1::APPLIED);
  }
  EXPECT_THAT(Listed(), ElementsAre("ann", "bob", "cyd", "dan", kEve));
  EXPECT_THAT(Listed("", 2), ElementsAre("ann", "bob"));
  EXPECT_THAT(Listed("bob", 2), ElementsAre("cyd", "dan"));
  EXPECT_THAT(Listed("dan", 2), ElementsAre(kEve));
  EXPECT_THAT(Listed(kEve, 2), IsEmpty());
  EXPECT_THAT(model_->ListUsers("", 1001), StatusIs(absl::StatusCode::kInvalidArgument,
                                                    "limit: must be in [0, 1000], got 1001"));
}

TEST_F(UserLifeTest, AnExportOfAUserHasTheUsersOwnAlone) {
  Start(IndependentSpec());
  ASSERT_EQ(CodeOf(Learn("ann")), v1::APPLIED);
  ASSERT_EQ(CodeOf(Learn("bob")), v1::APPLIED);
  ASSERT_EQ(CodeOf(Learn("ann")), v1::APPLIED);
  const auto user = model_->ExportUser("ann");
  ASSERT_THAT(user, IsOk());
  EXPECT_EQ(user->user().id(), "ann");
  EXPECT_TRUE(user->own_node());
  EXPECT_EQ(user->events(), 2u);
  const NodeStatistics sums = StatisticsOf(*model_)[0];
  EXPECT_THAT(user->gram(), ElementsAre(sums.gram[0], sums.gram[1], sums.gram[1], sums.gram[2]));
  EXPECT_THAT(user->moment(), ElementsAre(sums.moment[0], sums.moment[1]));
  ASSERT_EQ(user->entries_size(), 2);
  EXPECT_EQ(user->entries(0).log_sequence(), 1u);
  EXPECT_EQ(user->entries(1).log_sequence(), 3u);
  for (const v1::UserEntry& entry : user->entries()) {
    EXPECT_EQ(entry.kind(), "report");
    EXPECT_EQ(std::get<OutcomeRecord>(*Decode(entry.record(), 2)).event.user, "ann");
  }
  EXPECT_THAT(model_->ExportUser(kEve), StatusIs(absl::StatusCode::kNotFound, "id: not a user"));
  EXPECT_THAT(model_->ExportUser(""), StatusIs(absl::StatusCode::kInvalidArgument, "ids[0]: "));
  // Entries that a checkpoint has made superfluous are gone.
  ASSERT_THAT(Delete({"bob"}), IsOk());
  EXPECT_EQ(model_->ExportUser("ann")->entries_size(), 0);
  ASSERT_EQ(CodeOf(Learn("ann")), v1::APPLIED);
  EXPECT_EQ(model_->ExportUser("ann")->entries_size(), 1);
}

TEST_F(UserLifeTest, WindowsOfOthersStayOutOfAnExport) {
  Start(
      SpecOf("name: 'm' dimension: 2 mode: NON_PRIVATE independent {} reporting { reward_window {"
             " duration { seconds: 60 } default_reward: 0.25 } }"));
  const Decision ann = Decide("ann");
  const Decision bob = Decide("bob");
  ASSERT_THAT(model_->RecordDecision(ann), IsOk());
  ASSERT_THAT(model_->RecordDecision(bob), IsOk());
  ASSERT_EQ(CodeOf(ReportOne(*model_, ann, 1)), v1::APPLIED);
  CloseWindows();
  const auto user = model_->ExportUser("ann");
  ASSERT_THAT(user, IsOk());
  ASSERT_EQ(user->entries_size(), 2);
  EXPECT_EQ(user->entries(0).kind(), "decision");
  EXPECT_EQ(user->entries(1).kind(), "close");
  const auto close = std::get<CloseRecord>(*Decode(user->entries(1).record(), 2));
  ASSERT_EQ(close.windows.size(), 1u);
  EXPECT_EQ(close.windows[0].id, ann.id);
}

TEST_F(UserLifeTest, ASharedModelKnowsNoUsers) {
  Start(SharedSpec());
  EXPECT_THAT(model_->ListUsers("", 0), StatusIs(kNotNow, "model m keeps no ids of users"));
  EXPECT_THAT(model_->ExportUser("ann"),
              StatusIs(kNotNow, "model m knows nothing of single users"));
  EXPECT_THAT(Delete({"ann"}), StatusIs(kNotNow, "model m knows nothing of single users"));
}

constexpr char kChain[] =
    "graph { users: 3 rows: [0, 1, 2, 0, 1] columns: [0, 1, 2, 1, 2] weights: [1, 1, 1, 0.5, 0.5] "
    "}";

TEST_F(UserLifeTest, UsersOfAGraphArePut) {
  const std::string config =
      absl::StrCat("name: 'm' dimension: 2 mode: NON_PRIVATE colin { ", kChain,
                   " users { ids: ['ann', 'bob'] nodes: [0, 1] reject: true } }");
  Start(SpecOf(config));
  EXPECT_THAT(model_->ResolveUser(kEve), StatusIs(absl::StatusCode::kNotFound));
  ASSERT_THAT(PutNode(kEve, 2), IsOk());
  EXPECT_EQ(put_.added(), 1u);
  ASSERT_THAT(PutNode("ann", 1), IsOk());  // before the configuration's
  ASSERT_THAT(PutNode("ann", 2), IsOk());
  EXPECT_EQ(put_.replaced(), 1u);
  EXPECT_EQ(put_.users(), 2u);
  EXPECT_THAT(PutNode("dan", 3), StatusIs(absl::StatusCode::kInvalidArgument,
                                          "users[0].node: must be in [0, 3), got 3"));
  EXPECT_THAT(Listed(), ElementsAre("ann", "bob", kEve));
  EXPECT_FALSE(model_->ExportUser(kEve)->own_node());
  EXPECT_EQ(model_->ExportUser(kEve)->user().node(), 2u);
  Start(SpecOf(config));
  EXPECT_EQ(*model_->ResolveUser(kEve), 2);
  EXPECT_EQ(*model_->ResolveUser("ann"), 2);
  EXPECT_EQ(*model_->ResolveUser("bob"), 1);

  const auto exported = model_->Export();
  ASSERT_THAT(exported, IsOk());
  EXPECT_NE(exported->find(kEve), std::string::npos);
  EXPECT_THAT(Delete({kEve, "ann"}),
              StatusIs(kNotNow, "ids[1]: stands among the users of the model's configuration"));
  const auto deleted = Delete({kEve, "nobody"});
  ASSERT_THAT(deleted, IsOk());
  EXPECT_EQ(deleted->deleted(), 1u);
  EXPECT_EQ(Found(folder_.path(), kEve), 0);
  EXPECT_THAT(model_->ResolveUser(kEve), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_EQ(*model_->ResolveUser("ann"), 2);
  EXPECT_EQ(model_->Export()->find(kEve), std::string::npos);
}

TEST_F(UserLifeTest, AUserOfAPrivateGraphKeepsTheNode) {
  Start(LocalColinSpec());
  EXPECT_THAT(PutNode("2", 1), StatusIs(kNotNow, "users[0].node: the user has node 2"));
  ASSERT_THAT(PutNode("ann", 1), IsOk());
  ASSERT_THAT(PutNode("ann", 1), IsOk());
  EXPECT_THAT(PutNode("ann", 0), StatusIs(kNotNow, "users[0].node: the user has node 1"));
  EXPECT_EQ(*model_->ResolveUser("ann"), 1);
  EXPECT_EQ(*model_->ResolveUser("2"), 2);
}

// A second node would be a second budget: neither PutUsers nor a configuration, now or later, gives
// one.
TEST_F(UserLifeTest, AConfigurationMovesNoUserOfAPrivateGraph) {
  const auto with = [](const std::string& users, const char* mode = "LOCAL_REWARD") {
    return SpecOf(absl::StrCat(
        "name: 'm' dimension: 2 mode: ", mode, " colin { ", kChain, " ", users, " } ",
        mode == std::string_view("LOCAL_REWARD")
            ? "privacy { epsilon: 2 mechanism: REWARD_RANDOMIZER } reporting { one_per_decision: "
              "true }"
            : ""));
  };
  const std::string both = "users { ids: ['ann', 'bob'] nodes: [0, 1] reject: true }";
  const ModelSpec swapped = with("users { ids: ['ann', 'bob'] nodes: [1, 0] reject: true }");
  const ModelSpec without_ann = with("users { ids: ['bob'] nodes: [1] reject: true }");
  const ModelSpec numbers = with("");
  Start(with(both));
  EXPECT_THAT(model_->CheckUpdate(swapped), StatusIs(kNotNow, "users: the user has node "));
  EXPECT_THAT(model_->CheckUpdate(with(both)), IsOk());
  EXPECT_THAT(model_->CheckUpdate(numbers), IsOk());  // nobody was called 0, 1 or 2
  model_.reset();
  EXPECT_THAT(TryOpen(swapped).status(), StatusIs(kNotNow, "users: the user has node "));
  // Whoever is taken out comes back to the same node.
  Start(without_ann);
  EXPECT_THAT(PutNode("ann", 2), StatusIs(kNotNow, "users[0].node: the user has node 0, not 2"));
  EXPECT_THAT(model_->CheckUpdate(swapped), StatusIs(kNotNow, "users: the user has node "));
  EXPECT_THAT(model_->CheckUpdate(with(both)), IsOk());
  // A deletion forgets the node.
  ASSERT_THAT(Delete({"ann"}), IsOk());
  EXPECT_THAT(PutNode("ann", 2), IsOk());
}

TEST_F(UserLifeTest, IdsThatWereNumbersKeepTheirNodes) {
  Start(LocalColinSpec());
  ModelSpec named = LocalColinSpec();
  named.users = {{"2", 0}, {"ann", 1}};
  EXPECT_THAT(model_->CheckUpdate(named), StatusIs(kNotNow, "users: the user has node 2, not 0"));
  named.users = {{"2", 2}, {"ann", 1}};
  EXPECT_THAT(model_->CheckUpdate(named), IsOk());
  named.cold_start_node = 0;
  Start(named);
  named.cold_start_node = 1;
  EXPECT_THAT(model_->CheckUpdate(named),
              StatusIs(kNotNow, "cold_start_node: unknown users have node 0, not 1"));
}

TEST_F(UserLifeTest, WhereNothingIsPromisedAConfigurationMovesUsers) {
  const std::string config =
      absl::StrCat("name: 'm' dimension: 2 mode: NON_PRIVATE colin { ", kChain);
  Start(SpecOf(absl::StrCat(config, " users { ids: ['ann'] nodes: [0] reject: true } }")));
  EXPECT_THAT(model_->CheckUpdate(SpecOf(
                  absl::StrCat(config, " users { ids: ['ann'] nodes: [1] reject: true } }"))),
              IsOk());
}

// Nobody counts the events of one user of many who share a node.
TEST_F(UserLifeTest, ALimitThatNobodyKeepsIsRefusedAndLeftOutOfWhatIsStored) {
  const auto parsed = [](const std::string& text, bool stored) -> absl::StatusOr<ModelSpec> {
    v1::ModelConfig config = SpecOf("name: 'm' dimension: 2 mode: NON_PRIVATE shared {}").config;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
        absl::StrCat("name: 'm' dimension: 2 reporting { one_per_decision: true } ", text),
        &config));
    if (stored) return server::ParseStoredConfig(config);
    std::vector<ConfigError> errors;
    auto spec = ParseServedModel(config, "", /*allow_files=*/false, errors);
    if (!spec) return InvalidArgument(errors.front().field, ": ", errors.front().message);
    return *std::move(spec);
  };
  constexpr char kLimit[] =
      " privacy { epsilon: 2 mechanism: REWARD_RANDOMIZER events_per_user_max: 2 }";
  for (const std::string& central :
       {absl::StrCat("mode: CENTRAL_REWARD shared {}", kLimit),
        absl::StrCat("mode: CENTRAL_REWARD effects { standard {} }", kLimit),
        std::string("mode: JOINT shared {} privacy { epsilon: 2 delta: 1e-6 mechanism: COUNTER"
                    " counter { horizon: 100 } events_per_user_max: 2 }")}) {
    EXPECT_THAT(parsed(central, false),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         "privacy.events_per_user_max: must be 0 where users may share a node"))
        << central;
    const auto stored = parsed(central, true);
    ASSERT_THAT(stored, IsOk()) << central;
    EXPECT_EQ(stored->public_spec.events_per_user_max, 0u);
    EXPECT_EQ(stored->config.privacy().events_per_user_max(), 0u);
  }
  for (const std::string& kept : {absl::StrCat("mode: LOCAL_REWARD shared {}", kLimit),
                                  absl::StrCat("mode: CENTRAL_REWARD independent {}", kLimit)}) {
    const auto stored = parsed(kept, true);
    ASSERT_THAT(stored, IsOk()) << kept;
    EXPECT_EQ(stored->public_spec.events_per_user_max, 2u);
  }
}

TEST_F(UserLifeTest, IndependentModelsTakeNoUsers) {
  Start(IndependentSpec());
  EXPECT_THAT(PutNode("ann", 0),
              StatusIs(kNotNow, "model m has neither groups of users nor a graph"));
}

}  // namespace
}  // namespace bandana::testing
