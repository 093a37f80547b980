// Files that versions up to this one have written, stored in tests/golden/formats: this version
// opens them and finds in them what was put there; versions that are newer than this one are
// refused. `formats_golden_test --write=FOLDER` writes today's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "bandana/store.h"
#include "client/src/store/store.h"
#include "common/base/check.h"
#include "common/base/file.h"
#include "common/base/mapped_file.h"
#include "common/base/sha256.h"
#include "common/design/identity.h"
#include "common/ranking/scoring.h"
#include "server/models/folder/checkpoint.h"
#include "server/models/folder/export.h"
#include "server/models/folder/export_header.h"
#include "server/models/folder/noise_key_file.h"
#include "server/models/folder/publication.h"
#include "server/models/registry.h"
#include "tests/golden/golden_main.h"
#include "tests/support/hosted_model_fixture.h"
#include "tests/support/seeded_bits.h"
#include "tests/support/stored_files.h"

namespace bandana::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;

std::string write_to;

std::string Stored(const std::string& name) { return std::string(BANDANA_FORMATS_DIR "/") + name; }

ModelSpec PlainSpec() { return IndependentSpec("reporting { one_per_decision: true }"); }
ModelSpec CentralSpec() {
  return SpecOf(
      "name: 'm' dimension: 2 mode: CENTRAL_REWARD shared {} refresh_interval {}"
      " privacy { epsilon: 2 delta: 1e-6 mechanism: COUNTER counter { horizon: 100 kind: BLT } }"
      " reporting { reward_window { duration { seconds: 60 } default_reward: 0.25 } }");
}

ModelSpec SparseModelSpec() {
  return SpecOf(
      "name: 'm' dimension: 5 mode: JOINT sparse { sparsity: 2 } feature_l2_max: 9 reward_min: -2"
      " reward_max: 2 privacy { epsilon: 18 delta: 1e-5 } reporting { one_per_decision: true }");
}

// It forgets: a step per hour.
ModelSpec YearsSpec() {
  return SpecOf(
      "name: 'm' dimension: 12 mode: NON_PRIVATE independent {} refresh_interval {}"
      " half_life { seconds: 115200 } reporting { one_per_decision: true }");
}
constexpr int kYearsUsers = 48;

ModelSpec WeightsSpec() {
  return SpecOf(
      "name: 'm' dimension: 2 mode: NON_PRIVATE effects { standard { pairs: true } }"
      " reporting { one_per_decision: true }");
}

server::HostedModelOptions OptionsIn(const std::string& data_dir) {
  SeededBits bits(5);
  server::HostedModelOptions options;
  options.tick_max = absl::Milliseconds(2);
  options.noise_key = *server::OpenNoiseKey(data_dir, bits);
  return options;
}

void Settle(const HostedModel& model) {
  ASSERT_TRUE(Eventually([&] {
    const v1::GetStatsResponse stats = model.Stats();
    return stats.applied_sequence() == stats.log_sequence();
  }));
}

// Six events of ann, three of bob; a checkpoint after the third and the sixth entry.
void WritePlain(const std::string& folder, FakeClock& clock) {
  auto model = *HostedModel::Open(PlainSpec(), folder, clock);
  v1::PutArmsResponse response;
  ASSERT_THAT(
      model->PutArms(std::vector<server::CatalogueArm>{{7, {0.5, 0.25}, {"tag"}}}, &response),
      IsOk());
  for (int i = 1; i <= 9; ++i) {
    const auto decision = DecisionOf(*model, clock, i, {0.6, 0.8}, i % 3 == 0 ? "bob" : "ann");
    ASSERT_EQ(CodeOf(ReportOne(*model, decision, 0.5)), v1::APPLIED);
    if (i == 3 || i == 6) {
      ASSERT_THAT(model->Checkpoint(), IsOk());
    }
  }
}

// Two closed windows, one of them reported, and an open one.
void WriteCentral(const std::string& data_dir, FakeClock& clock) {
  auto model = *HostedModel::Open(CentralSpec(), data_dir + "/m", clock, OptionsIn(data_dir));
  for (int i = 1; i <= 3; ++i) {
    const auto decision = DecisionOf(*model, clock, i, {0.6, 0.8});
    ASSERT_THAT(model->RecordDecision(decision), IsOk());
    if (i != 2) {
      ASSERT_EQ(CodeOf(ReportOne(*model, decision, 0.75)), v1::APPLIED);
    }
    if (i == 2) clock.Advance(absl::Seconds(78));  // window and grace
    if (i == 2) {
      ASSERT_TRUE(Eventually([&] { return model->posterior()->version() > 0; }));
    }
  }
  Settle(*model);
  ASSERT_THAT(model->Checkpoint(), IsOk());
}

// Five episodes and nine events of the sixth, a checkpoint in its middle.
void WriteSparse(const std::string& data_dir, FakeClock& clock) {
  auto model = *HostedModel::Open(SparseModelSpec(), data_dir + "/m", clock, OptionsIn(data_dir));
  for (int i = 1; i <= 40; ++i) {
    const double x = i % 3 == 0 ? 1 : -1;
    const auto decision = DecisionOf(*model, clock, i, {0.5, 0.25, x, -0.5, 0.125});
    ASSERT_EQ(CodeOf(ReportOne(*model, decision, x)), v1::APPLIED);
    if (i != 36) continue;
    Settle(*model);
    ASSERT_THAT(model->Checkpoint(), IsOk());
  }
  Settle(*model);
}

// Users u0 to u47; u0 is deleted; u1 has an event before the first step, one after it, and
// one in a checkpoint that says what changed since its base; u2 has a last one in the log alone.
void WriteYears(const std::string& folder, FakeClock& clock) {
  server::HostedModelOptions options;
  options.stepped = true;
  options.checkpoint_base_bytes_min = 0;
  auto model = *HostedModel::Open(YearsSpec(), folder, clock, options);
  int number = 0;
  const auto event = [&](int user) {
    ++number;
    std::vector<double> x(12);
    for (int i = 0; i < 12; ++i) x[i] = 0.1 / (1 + (number * 7 + i * 13) % 17);
    x[0] = 0.6;
    x[1 + user % 11] = 0.7;
    const auto decision = DecisionOf(*model, clock, number, x, "u" + std::to_string(user));
    model->Report({{.decision = decision, .reward = 0.5}}, [](const auto& results) {
      ASSERT_THAT(results, IsOk());
      ASSERT_EQ(results->front().code, v1::APPLIED);
    });
    model->Step();
  };
  for (int user = 0; user < kYearsUsers; ++user) event(user);
  clock.Advance(absl::Hours(1));
  model->Step();
  model->Step();
  event(1);
  const std::string gone = "u0";
  ASSERT_THAT(model->DeleteUsers({&gone, 1}), IsOk());  // writes the base
  event(1);
  ASSERT_THAT(model->Checkpoint(), IsOk());
  event(2);
  for (const auto& file : fs::directory_iterator(folder)) {
    std::printf("%s\n", file.path().filename().c_str());
  }
}

// 280 events of three users and four arms: the weights have been shown once, and a checkpoint ten
// events before the end has others that are learnt.
void WriteWeights(const std::string& folder, FakeClock& clock) {
  auto model = *HostedModel::Open(WeightsSpec(), folder, clock);
  for (int i = 1; i <= 280; ++i) {
    const std::string user = "u" + std::to_string(i % 3);
    auto decision = DecisionOf(*model, clock, i, {0.6, i % 2 == 0 ? 0.8 : -0.8}, user);
    const auto arm = static_cast<std::uint32_t>(i % 4);
    decision.arms[0].keys = {UserKey(user), ArmKey(arm)};
    ASSERT_EQ(CodeOf(ReportOne(*model, decision, arm == 1 ? 1 : 0.125 * (i % 3))), v1::APPLIED);
    if (i != 270) continue;
    Settle(*model);
    ASSERT_THAT(model->Checkpoint(), IsOk());
  }
  Settle(*model);
}

void WriteDevice(const std::string& path) {
  auto store = *DeviceStore::Open(path);
  auto* body = static_cast<device::Store*>(store.get());
  ASSERT_THAT(body->Run([&](device::Store::Transaction& transaction) {
    device::Tables& tables = transaction.tables;
    const device::PolicyId policy =
        tables.AddPolicy({.model = "m", .hash = std::string(32, 'h'), .epsilon = 2, .delta = 1e-6});
    tables.Debit({.policy = policy, .user = "ann", .events = 5});
    tables.reports().Put({.number = body->state().NextNumber(),
                          .policy = policy,
                          .state = device::ReportState::kReady,
                          .user = "ann",
                          .token = "token",
                          .features = std::string(16, 'f'),
                          .report = "report"});
    return absl::OkStatus();
  }),
              IsOk());
}

TEST(FormatsWriter, TodaysFilesOnRequest) {
  FakeClock clock;
  for (const char* name : {"plain", "central", "sparse", "years", "weights"})
    fs::create_directories(write_to + "/" + name);
  WritePlain(write_to + "/plain/m", clock);
  WriteCentral(write_to + "/central", clock);
  WriteSparse(write_to + "/sparse", clock);
  WriteYears(write_to + "/years/m", clock);
  WriteWeights(write_to + "/weights/m", clock);
  WriteDevice(write_to + "/device.db");
}

// The ids that the stored folders know.
DecisionId StoredId(std::uint64_t number) {
  DecisionId id{};
  std::memcpy(id.data(), &number, sizeof number);
  return id;
}

class FormatsTest : public ::testing::Test {
 protected:
  std::string Copy(const std::string& name) {
    return CopyStored(BANDANA_FORMATS_DIR "/" + name, folder_.File(name));
  }
  static void Sql(const std::string& path, const std::string& sql) {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(db);
    sqlite3_close(db);
  }
  void ExpectPlain(const std::string& folder) {
    const auto model = HostedModel::Open(PlainSpec(), folder, clock_);
    ASSERT_THAT(model, IsOk());
    const auto nodes = StatisticsOf(**model);
    ASSERT_EQ(nodes.size(), 2);
    EXPECT_EQ(nodes[0].events, 6);
    EXPECT_EQ(nodes[1].events, 3);
    EXPECT_NEAR(nodes[0].moment[1], 6 * 0.8 * 0.5, 1e-12);
    EXPECT_NEAR(nodes[1].gram[0], 3 * 0.36, 1e-12);
    EXPECT_EQ((*model)->Stats().reports_applied(), 9);
    EXPECT_EQ((*model)->catalogue()->size(), 1);
    // Ids are known.
    auto again = DecisionOf(**model, clock_, 9, {0.6, 0.8}, "bob");
    again.id = StoredId(9);
    EXPECT_EQ(CodeOf(ReportOne(**model, again, 0.5)), v1::DUPLICATE);
  }

  const TempDir folder_;
  FakeClock clock_;
};

TEST_F(FormatsTest, AModelOfFormat4) { ExpectPlain(Copy("plain") + "/m"); }

TEST_F(FormatsTest, ACentralModelOfFormat4) {
  const std::string data_dir = Copy("central");
  clock_.Advance(absl::Seconds(61));
  const auto model = HostedModel::Open(CentralSpec(), data_dir + "/m", clock_, OptionsIn(data_dir));
  ASSERT_THAT(model, IsOk());
  // The open window closes at once, with its report, which nothing but the checkpoint says.
  EXPECT_EQ(StatisticsOf(**model)[0].events, 3);
  EXPECT_EQ((*model)->Stats().reports_applied(), 2);  // counted when it came
  EXPECT_EQ((*model)->Ledger().entries_size(), 1);
}

// Noise of former entries would not be the same again: none may stand behind the checkpoint.
TEST_F(FormatsTest, ASparseModelOfFormat5ThatWasNotStopped) {
  const std::string data_dir = Copy("sparse");
  EXPECT_THAT(HostedModel::Open(SparseModelSpec(), data_dir + "/m", clock_, OptionsIn(data_dir)),
              StatusIs(absl::StatusCode::kFailedPrecondition, "stop it cleanly"));
}

// Two closed windows, and an open one whose cell holds a report.
TEST_F(FormatsTest, ACentralModelOfFormat6) {
  const std::string data_dir = Copy("central-6");
  clock_.Advance(absl::Seconds(78));
  const auto model = HostedModel::Open(CentralSpec(), data_dir + "/m", clock_, OptionsIn(data_dir));
  ASSERT_THAT(model, IsOk());
  EXPECT_EQ(StatisticsOf(**model)[0].events, 2);
  EXPECT_EQ((*model)->Stats().reports_applied(), 2);
  auto reported = DecisionOf(**model, clock_, 3, {0.6, 0.8});
  reported.id = StoredId(3);
  EXPECT_EQ(CodeOf(ReportOne(**model, reported, 0.5)), v1::APPLIED);  // the first stands
  clock_.Advance(absl::Seconds(78));
  EXPECT_TRUE(Eventually([&] { return StatisticsOf(**model)[0].events == 3; }));
  EXPECT_EQ((*model)->Stats().reports_applied(), 3);
}

TEST_F(FormatsTest, ASparseModelOfFormat6) {
  const std::string data_dir = Copy("sparse-6");
  const auto model =
      HostedModel::Open(SparseModelSpec(), data_dir + "/m", clock_, OptionsIn(data_dir));
  ASSERT_THAT(model, IsOk());
  EXPECT_EQ(StatisticsOf(**model)[0].events, 40);
  EXPECT_EQ((*model)->Ledger().entries_size(), 1);
  const std::vector<double> mean = NodeOf(*(*model)->posterior(), 0).mean;
  ASSERT_EQ(mean.size(), 5);
  EXPECT_NEAR(mean[2], 1.284814, 1e-6);
  // The episode goes on where it was: its 32nd event is the 63rd of all.
  const std::uint64_t version = (*model)->posterior()->version();
  for (int i = 41; i <= 63; ++i) {
    EXPECT_EQ((*model)->posterior()->version(), version);
    const auto decision = DecisionOf(**model, clock_, i, {0.5, 0.25, 1, -0.5, 0.125});
    ASSERT_EQ(CodeOf(ReportOne(**model, decision, 1)), v1::APPLIED);
    Settle(**model);
  }
  EXPECT_GT((*model)->posterior()->version(), version);
}

// Format 3 had no shape, 2 no contexts that wait, 1 neither ledger nor streams: what came later
// stands at the end.
std::string Older(const std::string& file, std::uint32_t version) {
  const auto checkpoint = *server::DecodeCheckpoint(file);
  std::string streams;
  ByteWriter out(streams);
  checkpoint.state.ledger.Encode(out);
  checkpoint.state.local.Encode(out);
  out.Block(checkpoint.central);
  out.U64(checkpoint.published.sequence);
  out.Fixed(checkpoint.published.hash);
  std::string held;
  ByteWriter held_out(held);
  checkpoint.state.held.Encode(held_out);
  BANDANA_CHECK(file[8] == 4);
  const std::size_t shape = sizeof(std::int32_t);
  std::string body = file.substr(0, file.size() - sizeof(Sha256Digest) - shape);
  if (version <= 2) body.resize(body.size() - held.size());
  if (version == 1) body.resize(body.size() - streams.size());
  std::memcpy(body.data() + 8, &version, sizeof version);
  return body + std::string(AsChars(Sha256Of(body)));
}

TEST_F(FormatsTest, CheckpointsOfFormats1To3) {
  const std::string folder = Copy("plain") + "/m";
  for (const std::uint32_t version : {3u, 2u, 1u}) {
    for (const char* name :
         {"/checkpoint-00000000000000000003", "/checkpoint-00000000000000000006"}) {
      const std::string file = *ReadFile(Stored("plain/m") + name, 1 << 20);
      const std::string older = Older(file, version);
      EXPECT_LT(older.size(), file.size());
      ASSERT_THAT(WriteFileDurably(folder + name, older, 0600), IsOk());
    }
    ExpectPlain(folder);
  }
}

TEST_F(FormatsTest, ALogOfFormat1) {
  const std::string folder = Copy("plain") + "/m";
  Sql(folder + "/log.sqlite",
      "CREATE TABLE old(bucket INTEGER, sequence INTEGER, kind INTEGER NOT NULL, id BLOB NOT NULL,"
      " checksum INTEGER NOT NULL, PRIMARY KEY (bucket, sequence)) WITHOUT ROWID;"
      "INSERT INTO old SELECT bucket, sequence, kind, id, checksum FROM ids; DROP TABLE ids;"
      "ALTER TABLE old RENAME TO ids; PRAGMA user_version = 1;");
  ExpectPlain(folder);
}

// Migrated: nothing private stands in clear any more.
TEST_F(FormatsTest, ADeviceStoreOfFormat2) {
  Copy("device.db.anchor");
  const std::string path = Copy("device.db");
  ASSERT_NE(ReadFile(path, 1 << 20)->find("report"), std::string::npos);
  auto store = DeviceStore::Open(path);
  ASSERT_THAT(store, IsOk());
  EXPECT_FALSE((*store)->rolled_back());
  EXPECT_EQ(ReadFile(path + ".key", 64)->size(), 32);
  EXPECT_EQ(ReadFile(path, 1 << 20)->find("token" + std::string(8, '\0')), std::string::npos);
  auto* body = static_cast<device::Store*>(store->get());
  EXPECT_THAT(body->Run([](device::Store::Transaction& transaction) {
    const auto policies = transaction.tables.PoliciesOf("m");
    EXPECT_EQ(policies.size(), 1);
    EXPECT_EQ(transaction.tables.Events(policies.at(0).id, "ann"), 5);
    const auto rows = transaction.tables.reports().Awake(0, device::ReportState::kReady,
                                                         absl::InfiniteFuture(), 10);
    EXPECT_EQ(rows.size(), 1);
    EXPECT_EQ(rows.at(0).token, "token");
    EXPECT_EQ(rows.at(0).report, "report");
    return absl::OkStatus();
  }),
              IsOk());
  store->reset();
  EXPECT_THAT(DeviceStore::Open(path), IsOk());
}

// A base, what changed since it, and entries behind both.
TEST_F(FormatsTest, AModelOfFormat12ThatForgetsAndHasDeletedAUser) {
  const std::string folder = Copy("years") + "/m";
  std::string newest;
  for (const auto& file : fs::directory_iterator(folder)) {
    const std::string name = file.path().filename();
    if (name.find(".since-") != std::string::npos) newest = *ReadFile(file.path(), 1 << 20);
  }
  EXPECT_TRUE(newest.starts_with("BANDDELT"));
  const auto model = HostedModel::Open(YearsSpec(), folder, clock_);
  ASSERT_THAT(model, IsOk());
  const auto nodes = StatisticsOf(**model);
  ASSERT_EQ(nodes.size(), kYearsUsers);
  EXPECT_EQ(nodes[0].events, 0);
  EXPECT_EQ(nodes[1].events, 3);
  EXPECT_EQ(nodes[2].events, 2);
  EXPECT_EQ(nodes[3].events, 1);
  const double faded = std::exp2(-1.0 / 32);
  EXPECT_NEAR(nodes[1].moment[0], (2 + faded) * 0.6 * 0.5, 1e-12);
  EXPECT_NEAR(nodes[2].moment[3], (1 + faded) * 0.7 * 0.5, 1e-12);
  const auto users = (*model)->ListUsers("", 0);
  ASSERT_THAT(users, IsOk());
  EXPECT_EQ(users->users_size(), kYearsUsers - 1);
}

// Through a checkpoint and from the log alone it has equal bits.
TEST_F(FormatsTest, AModelOfFormat7WithWeights) {
  std::vector<double> before;
  for (const bool from_log : {false, true}) {
    const std::string folder = Copy("weights") + "/m";
    if (from_log) fs::remove(folder + "/checkpoint-00000000000000000270");
    const auto model = HostedModel::Open(WeightsSpec(), folder, clock_);
    ASSERT_THAT(model, IsOk());
    const v1::EffectsStats stats = (*model)->Stats().effects();
    std::vector<double> weights;
    for (const v1::EffectStats& effect : stats.effects()) weights.push_back(effect.weight());
    EXPECT_THAT(weights,
                Pointwise(DoubleNear(1e-5), {0.94842, 0.958148, 0.978522, 1.23561, 1.21903}));
    if (from_log) {
      EXPECT_EQ(weights, before);
    }
    before = weights;
    const std::vector<EffectKey> user = {UserKey("u1")};
    const std::vector<EffectKey> arm = {ArmKey(1)};
    const double x[] = {0.6, 0.8};
    const double* const features = x;
    NodePosterior scratch;
    ArmScores scores;
    (*model)->posterior()->Score({.keys = user}, {.features = {&features, 1}, .keys = arm}, scratch,
                                 scores);
    EXPECT_NEAR(scores.means[0], 0.685137, 1e-5);
    EXPECT_NEAR(scores.widths[0], 0.106043, 1e-5);
    fs::remove_all(folder);
  }
}

// Written by bandana-ctl export before exports had headers.
TEST_F(FormatsTest, ExportsOfFormats1And2) {
  const std::string data_dir = folder_.File("data");
  const auto registry =
      server::ModelRegistry::Open({.data_dir = data_dir, .models_max = 2}, clock_);
  ASSERT_THAT(registry, IsOk());
  const auto import = [&](const std::string& name) {
    const auto file = MappedFile::Open(BANDANA_FORMATS_DIR "/exports/" + name + ".export");
    EXPECT_THAT(file, IsOk());
    const auto header = server::HeaderOfExport(file->bytes());
    EXPECT_THAT(header, IsOk());
    EXPECT_THAT((*registry)->CheckImport(name, *header), IsOk());
    const auto model = (*registry)->Import(name, file->bytes(), &*header);
    EXPECT_THAT(model, IsOk());
    return *model;
  };
  const auto plain = import("plain");
  const auto nodes = StatisticsOf(*plain);
  ASSERT_EQ(nodes.size(), 2);
  EXPECT_EQ(nodes[0].events, 6);
  EXPECT_NEAR(nodes[0].moment[1], 6 * 0.8 * 0.5, 1e-12);
  EXPECT_EQ(plain->Stats().reports_applied(), 9);
  EXPECT_EQ(plain->catalogue()->size(), 1);
  const auto groups = import("groups");
  EXPECT_EQ(groups->Stats().user_groups().users(), 3);
  const auto arms = groups->catalogue();
  ASSERT_EQ(arms->size(), 2);
  EXPECT_EQ(arms->ArmOf(*arms->Find(1)).groups,
            (std::map<std::string, std::string>{{"kind", "film"}}));
  EXPECT_THAT(arms->ArmOf(*arms->Find(1)).tags, ElementsAre("news", "sport"));
}

// Every byte is right, and of a version to come.
TEST_F(FormatsTest, NewerVersionsAreRefused) {
  const std::string folder = Copy("plain") + "/m";
  const std::string checkpoint = *ReadFile(folder + "/checkpoint-00000000000000000006", 1 << 20);
  const auto with_version = [](const std::string& file, std::size_t at, std::uint32_t version) {
    std::string body = file.substr(0, file.size() - sizeof(Sha256Digest));
    std::memcpy(body.data() + at, &version, sizeof version);
    return body + std::string(AsChars(Sha256Of(body)));
  };
  EXPECT_THAT(server::DecodeCheckpoint(with_version(checkpoint, 8, 99)),
              StatusIs(absl::StatusCode::kDataLoss, "checkpoint: unknown version 99"));
  const std::string exported = [&] {
    const auto model = *HostedModel::Open(PlainSpec(), folder, clock_);
    return *model->Export();
  }();
  ASSERT_THAT(server::DecodeExport(exported), IsOk());
  EXPECT_THAT(server::DecodeExport(with_version(exported, 8, 99)),
              StatusIs(absl::StatusCode::kDataLoss,
                       "export: of format 99, this version reads formats 1 to"));
  const std::string identity = *ReadFile(folder + "/identity", 1 << 20);
  std::string lines = identity.substr(0, identity.rfind("sha256 "));
  lines.replace(lines.find("bandana-model 1"), 15, "bandana-model 9");
  EXPECT_THAT(ParseIdentity(lines + "sha256 " + ToHex(Sha256Of(lines)) + "\n"),
              StatusIs(absl::StatusCode::kDataLoss, "identity: unknown version"));
  Sql(folder + "/log.sqlite", "PRAGMA user_version = 99");
  EXPECT_THAT(HostedModel::Open(PlainSpec(), folder, clock_),
              StatusIs(absl::StatusCode::kDataLoss, "model m: "));
  const std::string central = Copy("central") + "/m";
  const std::string published = *ReadFile(central + "/published", 4096);
  ASSERT_THAT(WriteFileDurably(central + "/published", with_version(published, 8, 99), 0600),
              IsOk());
  EXPECT_FALSE(
      HostedModel::Open(CentralSpec(), central, clock_, OptionsIn(folder_.File("central"))).ok());
  Copy("device.db.anchor");
  const std::string store = Copy("device.db");
  Sql(store, "PRAGMA user_version = 99");
  EXPECT_FALSE(DeviceStore::Open(store).ok());
}

}  // namespace
}  // namespace bandana::testing

int main(int argc, char** argv) {
  return bandana::testing::RunGolden(argc, argv, "FormatsWriter", bandana::testing::write_to);
}
