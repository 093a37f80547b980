#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <functional>
#include <set>
#include <thread>

#include "common/base/file.h"
#include "server/models/folder/export_header.h"
#include "server/models/registry.h"
#include "tests/support/model_harness.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;

ModelSpec Named(const std::string& name, const std::string& more = "") {
  return SpecOf("name: '" + name + "' dimension: 2 mode: NON_PRIVATE independent {} " + more);
}

class ModelRegistryTest : public ::testing::Test {
 protected:
  void Open() {
    registry_.reset();
    ModelRegistry::Options options{.data_dir = folder_.path(), .models_max = 3};
    options.token_lifetime_max = absl::Hours(48);
    options.free_bytes = [this](const std::string&) { return free_bytes_; };
    auto registry = ModelRegistry::Open(options, clock_);
    ASSERT_THAT(registry, IsOk());
    registry_ = *std::move(registry);
  }
  // The content of the folder of models: no half-made ones, and no files.
  std::vector<std::string> Folders() {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.File("models"))) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  std::vector<std::string> Names() {
    std::vector<std::string> names;
    for (const auto& model : registry_->List()) names.push_back(model->spec().public_spec.name);
    return names;
  }
  static void Feed(HostedModel& model, const Clock& clock, int count) {
    for (int i = 0; i < count; ++i) {
      ASSERT_EQ(CodeOf(ReportOne(model, DecisionOf(model, clock, i, {1, 0}, "ann"), 1)),
                v1::APPLIED);
    }
  }

  TempDir folder_;
  FakeClock clock_;
  absl::StatusOr<std::uint64_t> free_bytes_ = std::uint64_t{1} << 40;
  std::unique_ptr<ModelRegistry> registry_;
};

TEST_F(ModelRegistryTest, CreatedModelsComeBackConfiguredOnesAreGivenAnew) {
  Open();
  ASSERT_THAT(registry_->Create(Named("b", "exploration { alpha: 0.75 }")), IsOk());
  ASSERT_THAT(registry_->AddConfigured(Named("a")), IsOk());
  EXPECT_THAT(Names(), ElementsAre("a", "b"));
  Feed(*registry_->FindOwned("a"), clock_, 3);
  Feed(*registry_->FindOwned("b"), clock_, 5);
  Open();
  EXPECT_THAT(Names(), ElementsAre("b"));
  EXPECT_EQ(registry_->FindOwned("a"), nullptr);
  EXPECT_EQ(registry_->FindOwned("b")->Stats().reports_applied(), 5);
  EXPECT_EQ(NodeOf(*registry_->FindOwned("b")->posterior(), 0).alpha, 0.75);
  ASSERT_THAT(registry_->AddConfigured(Named("a")), IsOk());
  EXPECT_EQ(registry_->FindOwned("a")->Stats().reports_applied(), 3);
}

TEST_F(ModelRegistryTest, NamesAreUniqueAndNumbersBounded) {
  Open();
  ASSERT_THAT(registry_->Create(Named("a")), IsOk());
  EXPECT_THAT(registry_->Create(Named("a")), StatusIs(absl::StatusCode::kAlreadyExists));
  EXPECT_THAT(registry_->AddConfigured(Named("a")), StatusIs(absl::StatusCode::kAlreadyExists));
  ASSERT_THAT(registry_->Create(Named("b")), IsOk());
  ASSERT_THAT(registry_->Create(Named("c")), IsOk());
  EXPECT_THAT(registry_->Create(Named("d")),
              StatusIs(absl::StatusCode::kResourceExhausted, "models_max is 3"));
}

TEST_F(ModelRegistryTest, StateOfAFormerlyConfiguredModelIsNotOverwritten) {
  Open();
  ASSERT_THAT(registry_->AddConfigured(Named("a")), IsOk());
  Feed(*registry_->FindOwned("a"), clock_, 3);
  Open();
  EXPECT_THAT(registry_->Create(Named("a")), StatusIs(absl::StatusCode::kFailedPrecondition));
  ASSERT_THAT(registry_->AddConfigured(Named("a")), IsOk());
  EXPECT_EQ(registry_->FindOwned("a")->Stats().reports_applied(), 3);
}

TEST_F(ModelRegistryTest, DeleteRemovesEverythingAndFreesTheName) {
  Open();
  ASSERT_THAT(registry_->Create(Named("a")), IsOk());
  Feed(*registry_->FindOwned("a"), clock_, 3);
  const auto before = registry_->FindOwned("a")->instance();
  ASSERT_THAT(registry_->Delete("a"), IsOk());
  EXPECT_FALSE(std::filesystem::exists(folder_.File("models/a")));
  EXPECT_EQ(registry_->FindOwned("a"), nullptr);
  EXPECT_THAT(registry_->Delete("a"), StatusIs(absl::StatusCode::kNotFound));
  ASSERT_THAT(registry_->Create(Named("a")), IsOk());
  EXPECT_NE(registry_->FindOwned("a")->instance(), before);
  EXPECT_EQ(registry_->FindOwned("a")->Stats().reports_applied(), 0);
  ASSERT_THAT(registry_->AddConfigured(Named("b")), IsOk());
  EXPECT_THAT(registry_->Delete("b"), StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST_F(ModelRegistryTest, AnImportedCopyHasTheStateUnderANewInstance) {
  Open();
  ASSERT_THAT(registry_->Create(Named("a")), IsOk());
  HostedModel& original = *registry_->FindOwned("a");
  Feed(original, clock_, 5);
  v1::PutArmsResponse response;
  ASSERT_THAT(original.PutArms(std::vector<server::CatalogueArm>{{3, {0.5, 0}, {"t"}}}, &response),
              IsOk());
  const auto exported = original.Export();
  ASSERT_THAT(exported, IsOk());
  ASSERT_THAT(registry_->Import("copy", *exported), IsOk());
  for (const bool restarted : {false, true}) {
    if (restarted) Open();
    HostedModel& copy = *registry_->FindOwned("copy");
    EXPECT_NE(copy.instance(), registry_->FindOwned("a")->instance());
    EXPECT_EQ(copy.spec().public_spec.name, "copy");
    EXPECT_THAT(copy.ResolveUser("ann"), ::testing::Not(StatusIs(absl::StatusCode::kNotFound)));
    EXPECT_EQ(StatisticsOf(copy)[0].events, 5 + (restarted ? 1 : 0));
    EXPECT_EQ(copy.Stats().reports_applied(), 5 + (restarted ? 1 : 0));
    const auto arms = copy.catalogue();
    EXPECT_EQ(arms->ArmOf(*arms->Find(3)).tags, std::vector<std::string>{"t"});
    if (!restarted) {
      EXPECT_EQ(CodeOf(ReportOne(copy, DecisionOf(copy, clock_, 99, {1, 0}, "ann"), 1)),
                v1::APPLIED);
    }
  }
}

// Each reason for which Import would refuse an export is known before its bytes are there.
TEST_F(ModelRegistryTest, AHeaderIsEnoughToSayWhyAnExportIsNotTaken) {
  Open();
  ASSERT_THAT(registry_->Create(Named("a")), IsOk());
  const std::string exported = *registry_->FindOwned("a")->Export();
  const v1::ExportHeader good = *server::HeaderOfExport(exported);
  EXPECT_THAT(registry_->CheckImport("b", good), IsOk());

  struct Case {
    std::string name;
    std::function<void(v1::ExportHeader&)> change;
    absl::StatusCode code;
    std::string message;
  };
  const auto none = [](v1::ExportHeader&) {};
  constexpr auto kNotHere = absl::StatusCode::kFailedPrecondition;
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  const std::vector<Case> cases = {
      {"a", none, absl::StatusCode::kAlreadyExists, "model a exists"},
      {"../x", none, kInvalid, "config: name: "},
      {"b", [](auto& h) { h.set_version(9); }, kNotHere, "version: the export has format 9"},
      {"b", [](auto& h) { h.set_version(0); }, kNotHere, "version: the export has format 0"},
      {"b", [](auto& h) { h.set_bytes(0); }, kInvalid, "bytes: "},
      {"b", [](auto& h) { h.set_bytes(1'000'000'000'000'000'000); },
       absl::StatusCode::kResourceExhausted,
       "an import of 1000000000000000000 bytes needs 3 times"},
      {"b", [](auto& h) { h.set_bytes(UINT64_MAX); }, absl::StatusCode::kResourceExhausted, ""},
      {"b", [](auto& h) { h.set_arms(1'000'001); }, kNotHere, "arms: the export has 1000001"},
      {"b", [](auto& h) { h.set_nodes(4'000'001); }, kNotHere, "nodes: the export has 4000001"},
      {"b", [](auto& h) { h.set_users(1); }, kNotHere, "users: the export has 1"},
      {"b", [](auto& h) { h.clear_config(); }, kInvalid, "config: "},
      {"b", [](auto& h) { h.mutable_config()->set_arms_max(2'000'000); }, kInvalid,
       "config: arms_max"},
      {"b", [](auto& h) { h.mutable_config()->mutable_token_lifetime()->set_seconds(180'000); },
       kNotHere, "config: token_lifetime is 50h"}};
  for (const Case& c : cases) {
    v1::ExportHeader header = good;
    c.change(header);
    EXPECT_THAT(registry_->CheckImport(c.name, header), StatusIs(c.code, c.message)) << c.message;
  }

  free_bytes_ = 2 * exported.size();
  EXPECT_THAT(registry_->CheckImport("b", good),
              StatusIs(absl::StatusCode::kResourceExhausted, "an import of "));
  EXPECT_THAT(registry_->Import("b", exported), StatusIs(absl::StatusCode::kResourceExhausted));
  free_bytes_ = absl::UnavailableError("no disk");
  EXPECT_THAT(registry_->CheckImport("b", good), StatusIs(absl::StatusCode::kUnavailable));
  free_bytes_ = std::uint64_t{1} << 40;

  ASSERT_THAT(registry_->AddConfigured(Named("old")), IsOk());
  Open();
  EXPECT_THAT(registry_->CheckImport("old", good), StatusIs(kNotHere, folder_.File("models/old")));
  EXPECT_THAT(registry_->Import("old", exported), StatusIs(kNotHere, folder_.File("models/old")));
  ASSERT_THAT(registry_->Create(Named("b")), IsOk());
  ASSERT_THAT(registry_->Create(Named("c")), IsOk());
  EXPECT_THAT(registry_->CheckImport("d", good),
              StatusIs(absl::StatusCode::kResourceExhausted, "the server has 3 models"));
  EXPECT_THAT(Folders(), ElementsAre("a", "b", "c", "old"));
}

TEST_F(ModelRegistryTest, ACentralModelIsNotTakenWithoutItsServersKey) {
  Open();
  ASSERT_THAT(registry_->Create(SpecOf(
                  "name: 'a' dimension: 2 mode: CENTRAL_REWARD shared {}"
                  " privacy { epsilon: 2 delta: 1e-6 } reporting { one_per_decision: true }")),
              IsOk());
  const std::string exported = *registry_->FindOwned("a")->Export();
  const v1::ExportHeader header = *server::HeaderOfExport(exported);
  EXPECT_THAT(registry_->CheckImport("b", header), IsOk());
  registry_.reset();
  std::filesystem::remove_all(folder_.File("models"));
  ASSERT_THAT(WriteFileDurably(folder_.File("noise_key"), "damaged", 0600), IsOk());
  Open();
  EXPECT_THAT(registry_->CheckImport("b", header), StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_THAT(registry_->Import("b", exported), StatusIs(absl::StatusCode::kDataLoss));
  // A data folder that has none yet makes it at its first central model, and not before.
  std::filesystem::remove(folder_.File("noise_key"));
  EXPECT_THAT(registry_->CheckImport("b", header), IsOk());
  EXPECT_FALSE(std::filesystem::exists(folder_.File("noise_key")));
  EXPECT_THAT(registry_->Import("b", exported), IsOk());
  EXPECT_TRUE(std::filesystem::exists(folder_.File("noise_key")));
}

TEST_F(ModelRegistryTest, AnExportThatIsNotItsHeadersIsNotTaken) {
  Open();
  ASSERT_THAT(registry_->Create(Named("a")), IsOk());
  const std::string exported = *registry_->FindOwned("a")->Export();
  v1::ExportHeader header = *server::HeaderOfExport(exported);
  header.set_arms(1);
  EXPECT_THAT(registry_->Import("b", exported, &header),
              StatusIs(absl::StatusCode::kInvalidArgument, "header: arms is 1"));
  EXPECT_THAT(Folders(), ElementsAre("a"));
  header.set_arms(0);
  EXPECT_THAT(registry_->Import("b", exported, &header), IsOk());
}

TEST_F(ModelRegistryTest, AnExportNeedsRoomOnItsDiskAndLeavesNoFile) {
  Open();
  ASSERT_THAT(registry_->Create(Named("a")), IsOk());
  const auto before = [&] {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.File("models/a"))) {
      names.insert(entry.path().filename().string());
    }
    return names;
  };
  const std::set<std::string> files = before();
  free_bytes_ = 10;
  EXPECT_THAT(registry_->FindOwned("a")->ExportToFile(),
              StatusIs(absl::StatusCode::kResourceExhausted, "an export of "));
  free_bytes_ = std::uint64_t{1} << 40;
  const auto exported = registry_->FindOwned("a")->ExportToFile();
  ASSERT_THAT(exported, IsOk());
  EXPECT_EQ(before(), files);
  EXPECT_EQ(exported->header.bytes(), exported->file.size());
  EXPECT_EQ(exported->header.config().name(), "a");
  // The file outlives the model.
  ASSERT_THAT(registry_->Delete("a"), IsOk());
  const auto map = exported->file.Map();
  ASSERT_THAT(map, IsOk());
  EXPECT_THAT(registry_->Import("b", map->bytes(), &exported->header), IsOk());
}

TEST_F(ModelRegistryTest, WhatAKillLeftIsGoneAfterTheNextStart) {
  Open();
  ASSERT_THAT(registry_->Create(Named("a")), IsOk());
  registry_.reset();
  ASSERT_THAT(WriteFileDurably(folder_.File("models/.temp-abcdef"), "x", 0600), IsOk());
  ASSERT_THAT(WriteFileDurably(folder_.File("models/a/.temp-abcdef"), "x", 0600), IsOk());
  ASSERT_THAT(MakeFolders(folder_.File("models/.new-b")), IsOk());
  Open();
  EXPECT_THAT(Folders(), ElementsAre("a"));
  EXPECT_FALSE(std::filesystem::exists(folder_.File("models/a/.temp-abcdef")));
}

TEST_F(ModelRegistryTest, ManyImportsAtOnceKeepNamesAndNumbersInBounds) {
  Open();
  ASSERT_THAT(registry_->Create(Named("a")), IsOk());
  Feed(*registry_->FindOwned("a"), clock_, 5);
  const std::string exported = *registry_->FindOwned("a")->Export();
  std::atomic<int> made = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      const auto copy = registry_->Import(absl::StrCat("copy", i % 4), exported);
      if (copy.ok()) ++made;
      if (!copy.ok()) {
        EXPECT_TRUE(absl::IsAlreadyExists(copy.status()) ||
                    absl::IsResourceExhausted(copy.status()))
            << copy.status();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(made, 2) << "models_max is 3";
  EXPECT_EQ(Folders().size(), 3);
  for (const auto& model : registry_->List()) {
    const auto owned = registry_->FindOwned(model->spec().public_spec.name);
    ASSERT_NE(owned, nullptr);
    EXPECT_EQ(StatisticsOf(*owned)[0].events, 5);
  }
}

TEST_F(ModelRegistryTest, BadImportsLeaveNothingBehind) {
  Open();
  ASSERT_THAT(registry_->Create(Named("a")), IsOk());
  std::string exported = *registry_->FindOwned("a")->Export();
  EXPECT_THAT(registry_->Import("a", exported), StatusIs(absl::StatusCode::kAlreadyExists));
  EXPECT_THAT(registry_->Import("../x", exported), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(registry_->Import("b", exported.substr(1)), StatusIs(absl::StatusCode::kDataLoss));
  exported[exported.size() / 2] ^= 1;
  EXPECT_THAT(registry_->Import("b", exported), StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_THAT(Names(), ElementsAre("a"));
  Open();
  EXPECT_THAT(Names(), ElementsAre("a"));
}

TEST_F(ModelRegistryTest, HalfMadeAndHalfDeletedFoldersAreRemovedAtTheStart) {
  ASSERT_THAT(MakeFolders(folder_.File("models/.new-x")), IsOk());
  ASSERT_THAT(MakeFolders(folder_.File("models/.deleted-y")), IsOk());
  Open();
  EXPECT_THAT(Names(), IsEmpty());
  EXPECT_TRUE(std::filesystem::is_empty(folder_.File("models")));
}

TEST_F(ModelRegistryTest, ADamagedModelLeavesTheOthersServing) {
  Open();
  for (const char* name : {"a", "b", "c"}) ASSERT_THAT(registry_->Create(Named(name)), IsOk());
  Feed(*registry_->FindOwned("c"), clock_, 3);
  registry_.reset();
  const auto damage = [&](const std::string& file) {
    std::string bytes = *ReadFile(folder_.File(file), 1 << 20);
    bytes[3] ^= 1;
    ASSERT_THAT(WriteFileDurably(folder_.File(file), bytes, 0600), IsOk());
  };
  damage("models/a/config.binpb");
  damage("models/b/identity");
  Open();
  EXPECT_THAT(Names(), ElementsAre("c"));
  EXPECT_EQ(registry_->FindOwned("c")->Stats().reports_applied(), 3);
  std::vector<std::string> absent;
  for (const auto& model : registry_->Absent()) {
    absent.push_back(model.name);
    EXPECT_THAT(model.why, StatusIs(absl::StatusCode::kDataLoss));
    // Its reports wait for it, and what its folder says is no caller's business.
    EXPECT_THAT(server::AbsenceOf(*registry_, model.name),
                StatusIs(absl::StatusCode::kUnavailable, "not open now"));
    EXPECT_FALSE(registry_->HidesReportsOf("c"));
    EXPECT_FALSE(model.opening);
  }
  EXPECT_THAT(absent, ElementsAre("a", "b"));
  EXPECT_TRUE(registry_->HidesReportsOf("a"));  // nobody knows what it promised
  EXPECT_THAT(server::AbsenceOf(*registry_, "d"), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(registry_->Create(Named("a")), StatusIs(absl::StatusCode::kAlreadyExists));
  damage("models/b/identity");  // flips it back
  EXPECT_THAT(registry_->Configure({}), ::testing::SizeIs(1));
  EXPECT_THAT(Names(), ElementsAre("b", "c"));
  damage("models/a/config.binpb");
  EXPECT_THAT(registry_->Configure({}), IsEmpty());
  EXPECT_THAT(Names(), ElementsAre("a", "b", "c"));
  registry_.reset();
  damage("models/a/config.binpb");
  Open();
  ASSERT_THAT(registry_->Delete("a"), IsOk());
  EXPECT_THAT(registry_->Absent(), IsEmpty());
}

TEST_F(ModelRegistryTest, AnUpdateTakesWhatARestartMayChange) {
  Open();
  ASSERT_THAT(registry_->Create(Named("a", "exploration { alpha: 0.75 }")), IsOk());
  Feed(*registry_->FindOwned("a"), clock_, 4);
  const std::shared_ptr<HostedModel> former = registry_->FindOwned("a");
  const auto updated = registry_->Update(Named("a", "exploration { alpha: 0.25 } arms_max: 7"));
  ASSERT_THAT(updated, IsOk());
  EXPECT_EQ(registry_->FindOwned("a"), *updated);
  EXPECT_EQ((*updated)->instance(), former->instance());
  EXPECT_EQ((*updated)->spec().arms_max, 7);
  EXPECT_EQ((*updated)->Stats().reports_applied(), 4);
  EXPECT_EQ(NodeOf(*(*updated)->posterior(), 0).alpha, 0.25);

  // Who still holds the one before reads what it published, and learns nothing by it.
  EXPECT_EQ(NodeOf(*former->posterior(), 0).alpha, 0.75);
  const ReportedOutcome report{.decision = DecisionOf(*former, clock_, 50, {1, 0}, "ann"),
                               .reward = 1};
  bool refused = false;
  former->Report({report}, [&](auto results) { refused = absl::IsUnavailable(results.status()); });
  EXPECT_TRUE(refused);
  v1::PutArmsResponse response;
  EXPECT_THAT(former->PutArms(std::vector<server::CatalogueArm>{{3, {0.5, 0}, {}}}, &response),
              StatusIs(absl::StatusCode::kUnavailable, "takes a change"));
  // Its decisions are reported to the one that took over.
  EXPECT_EQ(CodeOf(ReportOne(**updated, report.decision, 1)), v1::APPLIED);

  EXPECT_THAT(registry_->Update(SpecOf("name: 'a' dimension: 3 mode: NON_PRIVATE independent {}")),
              StatusIs(absl::StatusCode::kInvalidArgument, "dimension"));
  EXPECT_THAT(registry_->Update(Named("b")), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_EQ(CodeOf(ReportOne(**updated, DecisionOf(**updated, clock_, 60, {1, 0}, "bob"), 1)),
            v1::APPLIED);
  Open();
  EXPECT_EQ(registry_->FindOwned("a")->spec().arms_max, 7);
  EXPECT_EQ(registry_->FindOwned("a")->Stats().reports_applied(), 6);
}

TEST_F(ModelRegistryTest, ConfigureOpensUpdatesAndCloses) {
  Open();
  ASSERT_THAT(registry_->Configure({Named("a"), Named("b")}), IsEmpty());
  Feed(*registry_->FindOwned("a"), clock_, 3);
  const auto a = registry_->FindOwned("a");
  const auto b = registry_->FindOwned("b");
  EXPECT_THAT(registry_->Update(Named("a", "arms_max: 7")),
              StatusIs(absl::StatusCode::kFailedPrecondition, "SIGHUP"));
  // One model that cannot be taken, one as before, one changed.
  const auto failed = registry_->Configure(
      {Named("a", "arms_max: 7"), SpecOf("name: 'b' dimension: 3 mode: NON_PRIVATE shared {}"),
       Named("c")});
  ASSERT_THAT(failed, ::testing::SizeIs(1));
  EXPECT_EQ(failed[0].name, "b");
  EXPECT_THAT(failed[0].why, StatusIs(absl::StatusCode::kInvalidArgument, "dimension"));
  EXPECT_THAT(Names(), ElementsAre("a", "b", "c"));
  EXPECT_NE(registry_->FindOwned("a"), a);
  EXPECT_EQ(registry_->FindOwned("a")->Stats().reports_applied(), 3);
  EXPECT_EQ(registry_->FindOwned("b"), b);
  const auto c = registry_->FindOwned("c");
  ASSERT_THAT(registry_->Configure({Named("c")}), IsEmpty());
  EXPECT_THAT(Names(), ElementsAre("c"));
  EXPECT_EQ(registry_->FindOwned("c"), c);
  ASSERT_THAT(registry_->Configure({Named("a"), Named("c")}), IsEmpty());
  EXPECT_EQ(registry_->FindOwned("a")->Stats().reports_applied(), 3);
}

// A server takes calls before it has looked at its models: a device that is told NOT_FOUND then
// gives up what it has to report.
TEST_F(ModelRegistryTest, NoModelIsUnknownBeforeAllAreKnown) {
  auto opened = ModelRegistry::Open(
      {.data_dir = folder_.path(), .models_max = 3, .open_later = true}, clock_);
  ASSERT_THAT(opened, IsOk());
  ModelRegistry& registry = **opened;
  EXPECT_THAT(server::AbsenceOf(registry, "m"), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_TRUE(registry.HidesReportsOf("m"));  // it may be one that does
  EXPECT_THAT(registry.Configure({Named("n")}), IsEmpty());
  EXPECT_THAT(server::AbsenceOf(registry, "m"), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_FALSE(registry.HidesReportsOf("m"));
}

TEST_F(ModelRegistryTest, AnUpdateThatCannotBeOpenedLeavesTheModelAsItWas) {
  Open();
  ASSERT_THAT(registry_->Configure({Named("a")}), IsEmpty());
  Feed(*registry_->FindOwned("a"), clock_, 3);
  ModelSpec broken = Named("a", "arms_max: 7");
  broken.arms_file = folder_.File("missing.tsv");
  const auto failed = registry_->Configure({broken});
  ASSERT_THAT(failed, ::testing::SizeIs(1));
  EXPECT_THAT(failed[0].why, StatusIs(absl::StatusCode::kNotFound, "missing.tsv"));
  ASSERT_NE(registry_->FindOwned("a"), nullptr);
  EXPECT_EQ(registry_->FindOwned("a")->Stats().reports_applied(), 3);
  Feed(*registry_->FindOwned("a"), clock_, 0);
  EXPECT_EQ(CodeOf(ReportOne(*registry_->FindOwned("a"),
                             DecisionOf(*registry_->FindOwned("a"), clock_, 70, {1, 0}, "ann"), 1)),
            v1::APPLIED);
}

TEST_F(ModelRegistryTest, RefusalsThatLastAreSaid) {
  Open();
  ASSERT_THAT(registry_->Create(SpecOf("name: 'a' dimension: 2 mode: NON_PRIVATE "
                                       "independent { users_max: 1 }")),
              IsOk());
  HostedModel& model = *registry_->FindOwned("a");
  Feed(model, clock_, 1);
  EXPECT_THAT(model.Refusals(), IsEmpty());  // as many as may be, and nobody was refused
  EXPECT_EQ(CodeOf(ReportOne(model, DecisionOf(model, clock_, 9, {1, 0}, "bob"), 1)), v1::REJECTED);
  ASSERT_THAT(model.Refusals(), ::testing::SizeIs(1));
  EXPECT_EQ(model.Refusals()[0].reason, server::RefusalReason::kUsers);
  EXPECT_THAT(model.Refusals()[0].text, ::testing::HasSubstr("users_max = 1"));
  EXPECT_EQ(model.Stats().refusals(0).reason(), "users");
  EXPECT_THAT(model.Stats().refusals(0).remedy(), ::testing::HasSubstr("raise users_max"));
  const auto updated = registry_->Update(
      SpecOf("name: 'a' dimension: 2 mode: NON_PRIVATE independent { users_max: 2 }"));
  ASSERT_THAT(updated, IsOk());
  EXPECT_THAT((*updated)->Refusals(), IsEmpty());
  EXPECT_EQ(CodeOf(ReportOne(**updated, DecisionOf(**updated, clock_, 10, {1, 0}, "bob"), 1)),
            v1::APPLIED);
}

}  // namespace
}  // namespace bandana::server
