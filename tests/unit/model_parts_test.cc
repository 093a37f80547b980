// The small parts of a hosted model: records, user index, id index, identity, counters, checkpoint
// and export bytes, catalogue.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <thread>

#include "common/design/identity.h"
#include "common/model/entries/counters.h"
#include "common/model/entries/records.h"
#include "common/model/entries/user_index.h"
#include "common/model/paths/make_path.h"
#include "common/model/state/model_state.h"
#include "server/log/id_index.h"
#include "server/models/catalogue/arm_rules.h"
#include "server/models/catalogue/catalogue.h"
#include "server/models/folder/checkpoint.h"
#include "server/models/folder/export.h"
#include "tests/support/model_harness.h"
#include "tests/support/status_matchers.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;

constexpr absl::Time kTime = absl::UnixEpoch();

TEST(RecordsTest, AnOutcomeComesBackAsItWas) {
  const std::vector<double> x = {0.5, -0.25, 1e-300};
  OutcomeRecord record;
  record.event.id.fill(std::byte{7});
  record.event.epoch = 3;
  record.event.time = kTime + absl::Nanoseconds(123456789012345);
  record.event.user = "ann";
  record.event.features = x;
  record.received = kTime + absl::Seconds(5);
  record.deadline = kTime + absl::Seconds(9);
  record.reward = -2.5;
  const std::string bytes = Encode(record);
  const auto decoded = Decode(bytes, 3);
  ASSERT_THAT(decoded, IsOk());
  const auto& back = std::get<OutcomeRecord>(*decoded);
  EXPECT_EQ(back.event.id, record.event.id);
  EXPECT_EQ(back.event.epoch, 3);
  EXPECT_EQ(back.event.time, record.event.time);
  EXPECT_EQ(back.event.node, -1);
  EXPECT_EQ(back.event.user, "ann");
  EXPECT_EQ(back.event.features.Values(), x);
  EXPECT_EQ(back.received, record.received);
  EXPECT_EQ(back.deadline, record.deadline);
  EXPECT_EQ(back.reward, -2.5);
}

TEST(RecordsTest, TheOtherKindsComeBackAsTheyWere) {
  const std::vector<double> x = {1};
  DecisionRecord decision{.close = kTime + absl::Seconds(1), .default_reward = 0.25};
  decision.event.node = 4;
  decision.event.features = x;
  const std::string bytes = Encode(decision);
  const auto back = Decode(bytes, 1);
  ASSERT_THAT(back, IsOk());
  EXPECT_EQ(std::get<DecisionRecord>(*back).event.node, 4);
  EXPECT_EQ(std::get<DecisionRecord>(*back).close, decision.close);
  EXPECT_EQ(std::get<DecisionRecord>(*back).default_reward, 0.25);
  EXPECT_EQ(std::get<TimeRecord>(*Decode(Encode(TimeRecord{kTime}), 1)).now, kTime);
  CloseRecord close{.now = kTime, .early = true, .windows = {{{std::byte{5}}, 0.5}, {}}};
  const std::string closing = Encode(close);
  const auto closed = Decode(closing, 1);
  ASSERT_THAT(closed, IsOk());
  const auto& windows = std::get<CloseRecord>(*closed);
  EXPECT_EQ(windows.now, kTime);
  EXPECT_TRUE(windows.early);
  ASSERT_EQ(windows.windows.size(), 2);
  EXPECT_EQ(windows.windows[0].id, DecisionId{std::byte{5}});
  EXPECT_EQ(windows.windows[0].reward, 0.5);
  const std::string showing = Encode(ShownRecord{.id = {std::byte{6}}, .features = x});
  const auto shown = Decode(showing, 1);
  ASSERT_THAT(shown, IsOk());
  EXPECT_EQ(std::get<ShownRecord>(*shown).features.Values(), x);
  ReportRecord report{.id = {std::byte{7}}, .epoch = 3, .received = kTime, .reward = -1};
  for (const bool other_arm : {false, true}) {
    if (other_arm) report.features = x;
    const std::string asking = Encode(report);
    const auto asked = Decode(asking, 1);
    ASSERT_THAT(asked, IsOk());
    const auto& request = std::get<ReportRecord>(*asked);
    EXPECT_EQ(request.id, report.id);
    EXPECT_EQ(request.epoch, 3);
    EXPECT_EQ(request.received, kTime);
    EXPECT_EQ(request.reward, -1);
    EXPECT_EQ(request.features.Values(), other_arm ? x : std::vector<double>{});
  }
  const std::vector<EffectKey> keys = {UserKey("ann"), ArmKey(7)};
  const std::string freeing = Encode(FreeRecord{.keys = keys});
  const auto freed = Decode(freeing, 1);
  ASSERT_THAT(freed, IsOk());
  EXPECT_EQ(std::get<FreeRecord>(*freed).keys.Values(), keys);
  std::string more = freeing;
  more[2] = 3;  // keys, of which two are there
  EXPECT_THAT(Decode(more, 1), StatusIs(absl::StatusCode::kDataLoss, "log record of type 19"));
  // A decision of the format whose log said that it was reported.
  std::string former = bytes;
  former[1] = 1;
  EXPECT_THAT(Decode(former, 1), StatusIs(absl::StatusCode::kFailedPrecondition, "former version"));
  EXPECT_EQ(std::get<EpochRecord>(*Decode(Encode(EpochRecord{9}), 1)).epoch, 9);
  const std::string graph = Encode(GraphRecord{.graph = "graph"});
  EXPECT_EQ(std::get<GraphRecord>(*Decode(graph, 1)).graph, "graph");
}

TEST(RecordsTest, CountersAndDebitsComeBackAsTheyWere) {
  const std::vector<double> x = {0.5, -1}, moment = {3, 4};
  CounterRecord counter{.epoch = 3, .received = kTime, .node = 7, .user = "ann"};
  counter.stream.fill(std::byte{1});
  counter.step = 9;
  counter.last.fill(std::byte{2});
  counter.moment = moment;
  counter.steps.resize(2);
  counter.steps[1] = {.readable = true, .id = counter.last, .time = kTime, .features = x};
  const std::string bytes = Encode(counter);
  const auto back = Decode(bytes, 2);
  ASSERT_THAT(back, IsOk());
  const auto& read = std::get<CounterRecord>(*back);
  EXPECT_EQ(read.stream, counter.stream);
  EXPECT_EQ(read.user, "ann");
  EXPECT_EQ(read.step, 9);
  ASSERT_EQ(read.steps.size(), 2);
  EXPECT_FALSE(read.steps[0].readable);
  EXPECT_EQ(read.steps[1].time, kTime);
  EXPECT_EQ(Encode(read), bytes);  // also from the views
  for (std::size_t i = 2; i < bytes.size(); ++i) {
    EXPECT_THAT(Decode(bytes.substr(0, i), 2), StatusIs(absl::StatusCode::kDataLoss));
  }
  const DebitRecord debit{.epoch = 2, .node = 5, .releases = 256, .pure = 0.5, .rho = 0.25};
  const auto paid = Decode(Encode(debit), 2);
  ASSERT_THAT(paid, IsOk());
  EXPECT_EQ(std::get<DebitRecord>(*paid).releases, 256);
  EXPECT_EQ(std::get<DebitRecord>(*paid).rho, 0.25);
}

// Once, what was decoded lost its numbers when it was encoded again.
TEST(RecordsTest, WhatWasDecodedEncodesToTheSameBytes) {
  const std::vector<double> x = {0.5, -1}, root = {1, 0, 0, 1};
  const std::vector<std::int64_t> values = {1, -2, 3, 4, 5};
  const std::vector<EffectKey> freed(kFreedKeysMax, ArmKey(1));
  const EventRecord event{.id = {std::byte{3}}, .epoch = 2, .user = "ann", .features = x};
  const std::vector<Record> records = {
      DecisionRecord{.event = event, .close = kTime, .default_reward = 0.25},
      OutcomeRecord{.event = event, .received = kTime, .reward = 1},
      TimeRecord{kTime},
      EpochRecord{7},
      GraphRecord{.graph = "graph"},
      CounterRecord{
          .node = 1, .step = 2, .moment = x, .steps = {{.readable = true, .features = x}}},
      DebitRecord{.releases = 1, .rho = 0.5, .mu = 1, .variation = 0.125},
      ContextRecord{.id = {std::byte{4}}, .values = values},
      ContextRecord{.id = {std::byte{4}}, .seed = "0123456789abcdef"},
      ShapeRecord{.nodes = 2, .root = root},
      CloseRecord{.now = kTime, .windows = {{{std::byte{5}}, 0.5}}},
      ShownRecord{.id = {std::byte{6}}, .features = x},
      ReportRecord{.id = {std::byte{7}}, .reward = -1, .features = x},
      FreeRecord{.keys = freed},
      DeleteRecord{.now = kTime,
                   .until = absl::InfiniteFuture(),
                   .key = {std::byte{8}},
                   .users = {{.node = 3, .hash = {std::byte{9}}}, {.hash = {std::byte{10}}}}},
      DeleteRequest{.now = kTime, .until = kTime, .ids = {"ann", "bob"}},
      ReportRecord{.id = {std::byte{7}}, .reward = 1, .decided = kTime, .activated_by = kTime},
      OpeningRequest{.decisions = {"one", "another"}},
      ClockRecord{absl::Hours(9)}};
  for (const Record& record : records) {
    SCOPED_TRACE(record.index());
    const std::string bytes = Encode(record);
    const auto decoded = Decode(bytes, 2);
    ASSERT_THAT(decoded, IsOk());
    EXPECT_EQ(decoded->index(), record.index());
    EXPECT_EQ(Encode(*decoded), bytes);
    EXPECT_GT(EntryKindOf(bytes), 0);
    EXPECT_LE(EntryKindOf(bytes), kEntryKindRead);
  }
}

TEST(RecordsTest, CutsExtensionsAndUnknownVersionsAreDataLoss) {
  const std::vector<double> x = {1, 2};
  OutcomeRecord record;
  record.event.user = "ann";
  record.event.features = x;
  const std::string bytes = Encode(record);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THAT(Decode(bytes.substr(0, size), 2), StatusIs(absl::StatusCode::kDataLoss)) << size;
  }
  EXPECT_THAT(Decode(bytes + "x", 2), StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_THAT(Decode(bytes, 3), StatusIs(absl::StatusCode::kDataLoss));
  for (const int position : {0, 1}) {
    std::string other = bytes;
    other[position] = 77;
    EXPECT_THAT(Decode(other, 2), StatusIs(absl::StatusCode::kDataLoss));
  }
}

// Ids without gaps are found by counting, scattered ones by search.
TEST(CatalogueTest, FindsDenseAndScatteredIdsAndNoOthers) {
  for (const std::uint32_t step : {1u, 3u, 1'000'003u}) {
    std::vector<CatalogueArm> arms;
    for (std::uint32_t i = 0; i < 1500; ++i) arms.push_back({7 + i * step, {double(i)}, {}});
    arms.push_back({7, {-1}, {}});  // of equal ids the last stays
    const auto catalogue = Catalogue::Make(1, arms);
    ASSERT_EQ(catalogue->size(), 1500);
    EXPECT_EQ(catalogue->Find(7)->features[0], -1);
    for (std::uint32_t i = 1; i < 1500; ++i) {
      ASSERT_TRUE(catalogue->Find(7 + i * step));
      EXPECT_EQ(catalogue->Find(7 + i * step)->features[0], i);
    }
    for (const std::uint32_t id : {0u, 6u, 7 + 1500 * step, UINT32_MAX}) {
      EXPECT_FALSE(catalogue->Find(id)) << id;
    }
    if (step > 1) {
      EXPECT_FALSE(catalogue->Find(8));
    }
  }
  EXPECT_FALSE(Catalogue::Make(1, {})->Find(0));
}

TEST(UserIndexTest, NumbersUsersInOrderAndFindsThem) {
  UserIndex users;
  for (int i = 0; i < 10'000; ++i) EXPECT_EQ(users.Add("user" + std::to_string(i)), i);
  EXPECT_EQ(users.Add("user77"), 77);
  EXPECT_EQ(users.size(), 10'000);
  EXPECT_EQ(users.Find("user9999"), 9999);
  EXPECT_EQ(users.Find("user10000"), -1);
  EXPECT_EQ(users.Find(""), -1);
  EXPECT_EQ(users.Name(4096), "user4096");
}

TEST(UserIndexTest, ARemovedUserIsNotFoundAndComesBackAsAnother) {
  UserIndex users;
  for (int i = 0; i < 100; ++i) users.Add("user" + std::to_string(i));
  const std::uint32_t before = users.removed();
  users.Remove(7);
  users.Remove(7);
  EXPECT_EQ(users.removed(), before + 1);
  EXPECT_EQ(users.Find("user7"), -1);
  EXPECT_EQ(users.Name(7), "");
  EXPECT_EQ(users.Name(7, before), "user7");  // for an earlier state
  EXPECT_EQ(users.Add("user7"), 100);
  EXPECT_EQ(users.Find("user7"), 100);
  users.Wipe();
  EXPECT_EQ(users.Name(7, before), "");
  EXPECT_EQ(users.Name(100), "user7");
  EXPECT_EQ(users.AddNobody(), 101);
  EXPECT_EQ(users.Restore(""), 102);
  EXPECT_EQ(users.Restore("user7"), 100);
  EXPECT_EQ(users.size() - static_cast<int>(users.removed()), 100);
}

// Against a map, over many tables.
TEST(UserIndexTest, IsAMapWhoeverComesAndGoes) {
  UserIndex users;
  std::map<std::string, int> expected;
  std::uint64_t state = 42;
  for (int i = 0; i < 20'000; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const std::string id(1 + (state >> 60), static_cast<char>('a' + (state >> 40) % 26));
    const std::string user = id + std::to_string((state >> 33) % 500);
    const auto found = expected.find(user);
    ASSERT_EQ(users.Find(user), found == expected.end() ? -1 : found->second);
    if (found != expected.end() && (state >> 20) % 2 == 0) {
      users.Remove(found->second);
      expected.erase(found);
      if (i % 5 == 0) users.Wipe();
    } else {
      expected[user] = users.Add(user);
    }
  }
  for (const auto& [user, node] : expected) ASSERT_EQ(users.Name(node), user);
}

TEST(UserIndexTest, ReadersSeeEveryUserThatWasThere) {
  UserIndex users;
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::thread reader([&] {
    while (!stop) {
      const int size = users.size();
      for (int i = 0; i < size; i += 1 + size / 50) {
        if (users.Find(std::to_string(i)) != i || users.Name(i) != std::to_string(i)) ++wrong;
      }
    }
  });
  for (int i = 0; i < 30'000; ++i) users.Add(std::to_string(i));
  stop = true;
  reader.join();
  EXPECT_EQ(wrong, 0);
}

RememberedId Numbered(std::uint64_t number, std::int64_t bucket) {
  const server::DenseId id{.issuer = 77, .number = number};
  return {.bucket = bucket, .kind = 1, .id = id.ToEntryId()};
}

TEST(IdIndexTest, NumberedIdsTakeABitEach) {
  IdIndex ids;
  for (std::uint64_t number = 0; number < 10'000; number += 2) ids.Insert(Numbered(number, 3));
  EXPECT_EQ(ids.size(), 5000u);
  EXPECT_EQ(ids.loose(), 0u);
  for (std::uint64_t number = 0; number < 10'000; ++number) {
    EXPECT_EQ(ids.Contains(Numbered(number, 3)), number % 2 == 0) << number;
  }
  RememberedId other = Numbered(2, 3);
  other.kind = 0;
  EXPECT_FALSE(ids.Contains(other));
  ids.Remove(Numbered(2, 3));
  EXPECT_FALSE(ids.Contains(Numbered(2, 3)));
  EXPECT_TRUE(ids.Contains(Numbered(4, 3)));
  EXPECT_EQ(ids.size(), 4999u);
}

TEST(IdIndexTest, AChunkIsForgottenWithItsNewestId) {
  IdIndex ids;
  ids.Insert(Numbered(1, 3));
  ids.Insert(Numbered(2, 9));
  ids.Insert(Numbered(5000, 4));
  EXPECT_EQ(ids.oldest_bucket(), 4);
  ids.ForgetBefore(9);
  EXPECT_TRUE(ids.Contains(Numbered(1, 3)));
  EXPECT_FALSE(ids.Contains(Numbered(5000, 4)));
  EXPECT_EQ(ids.size(), 2u);
  ids.ForgetBefore(10);
  EXPECT_TRUE(ids.empty());
  EXPECT_EQ(ids.size(), 0u);
}

TEST(IdIndexTest, ChangedChunksMakeAnIndexThatKnowsTheSame) {
  IdIndex ids;
  for (std::uint64_t number = 0; number < 9000; number += 3) ids.Insert(Numbered(number, 3));
  std::vector<server::IdChunk> chunks;
  ids.AddChanged(chunks);
  ASSERT_EQ(chunks.size(), 3u);
  IdIndex copy;
  for (const server::IdChunk& chunk : chunks) copy.Insert(chunk);
  EXPECT_EQ(copy.size(), ids.size());
  for (std::uint64_t number = 0; number < 9000; ++number) {
    EXPECT_EQ(copy.Contains(Numbered(number, 0)), number % 3 == 0);
  }
  ids.Stored();
  ids.Insert(Numbered(4097, 4));
  chunks.clear();
  ids.AddChanged(chunks);
  ASSERT_EQ(chunks.size(), 1u);
  EXPECT_EQ(chunks[0].number, 1u);
  EXPECT_EQ(chunks[0].newest, 4);
}

RememberedId Random(std::uint8_t kind) {
  RememberedId id{.bucket = 3, .kind = kind};
  id.id.fill(std::byte{0xff});
  return id;
}

TEST(IdIndexTest, KindsOfOneIdAreOneEntry) {
  IdIndex ids;
  RememberedId id = Random(0);
  ids.Insert(id);
  id.kind = 1;
  EXPECT_FALSE(ids.Contains(id));
  ids.Insert(id);
  EXPECT_EQ(ids.size(), 1);
  ids.Remove(id);
  EXPECT_FALSE(ids.Contains(id));
  EXPECT_EQ(ids.size(), 1);
  ids.ForgetBefore(4);
  EXPECT_TRUE(ids.empty());
  EXPECT_EQ(ids.size(), 0);
  EXPECT_EQ(ids.forgotten_before(), 4);
}

TEST(IdentityTest, TextComesBackAndDamageIsFound) {
  InstanceId instance{};
  instance.fill(std::byte{0xab});
  const Identity identity = IdentityOf(LocalColinSpec(), instance);
  const std::string text = FormatIdentity(identity);
  const auto back = ParseIdentity(text);
  ASSERT_THAT(back, IsOk());
  EXPECT_EQ(back->instance, instance);
  EXPECT_EQ(back->fixed, identity.fixed);
  EXPECT_EQ(back->graph, identity.graph);
  EXPECT_EQ(back->reward_window, "none");
  for (std::size_t i = 0; i < text.size(); i += 5) {
    std::string bad = text;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    EXPECT_THAT(ParseIdentity(bad), StatusIs(absl::StatusCode::kDataLoss)) << i;
  }
  EXPECT_THAT(ParseIdentity(""), StatusIs(absl::StatusCode::kDataLoss));
}

TEST(CountersTest, OlderFilesWithFewerCountersAreRead) {
  Counters counters;
  counters.Add(Counters::kApplied, 5);
  counters.Add(Counters::Rejected(v1::POLICY_MISMATCH), 2);
  const std::string bytes = Counters::Encode(counters.Get());
  Counters back;
  ASSERT_THAT(back.Restore(bytes), IsOk());
  EXPECT_EQ(back.Get(), counters.Get());
  Counters older;
  ASSERT_THAT(older.Restore(bytes.substr(0, 8)), IsOk());
  EXPECT_EQ(older.Get()[Counters::kApplied], 5);
  EXPECT_THAT(older.Restore(bytes.substr(0, 9)), StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_THAT(older.Restore(bytes + bytes), StatusIs(absl::StatusCode::kDataLoss));
}

constexpr HeldContexts::Key kHeld = {1, {std::byte{9}}};

// A checkpoint of two users, two open windows and a stream that holds a context.
struct CheckpointFixture {
  CheckpointFixture() {
    state.position.sequence = 12;
    state.position.hash.fill(std::byte{1});
    state.epoch = 2;
    state.time = kTime + absl::Seconds(77);
    state.graph = "graph";
    state.events_at_epoch = {1, 0};
    const double x[] = {0.5, 0.25};
    const std::string features(reinterpret_cast<const char*>(x), sizeof x);
    state.windows.Open({kTime + absl::Seconds(90), 11},
                       {.id = {std::byte{1}}, .node = 1, .features = features});
    state.windows.Open({kTime + absl::Seconds(80), 12},
                       {.id = {std::byte{2}}, .node = 0, .features = features});
    state.held.Hold(kHeld, features, 2);
    users.Add("ann");
    users.Add("bob");
    statistics = {{{1, 2, 3}, {4, 5}, 6}, {{7, 8, 9}, {10, 11}, 12}};
  }
  std::string Bytes() const {
    server::CheckpointSource source{.dimension = 2,
                                    .state = &state,
                                    .nodes = 2,
                                    .users = &users,
                                    .counters = Counters::Encode({5})};
    source.statistics = [this](int node) -> const NodeStatistics& { return statistics[node]; };
    return server::EncodeCheckpoint(source);
  }
  ModelState state;
  UserIndex users;
  std::vector<NodeStatistics> statistics;
};

TEST(CheckpointTest, EverythingComesBack) {
  const CheckpointFixture fixture;
  auto back = server::DecodeCheckpoint(fixture.Bytes());
  ASSERT_THAT(back, IsOk());
  EXPECT_EQ(back->state.position, fixture.state.position);
  EXPECT_EQ(back->state.epoch, 2);
  EXPECT_EQ(back->state.time, fixture.state.time);
  EXPECT_EQ(back->state.graph, "graph");
  EXPECT_THAT(back->state.events_at_epoch, ElementsAre(1, 0));
  EXPECT_THAT(back->users, ElementsAre("ann", "bob"));
  EXPECT_EQ(back->statistics[1].events, 12);
  EXPECT_THAT(back->statistics[1].gram, ElementsAre(7, 8, 9));
  EXPECT_THAT(back->statistics[0].moment, ElementsAre(4, 5));
  EXPECT_EQ(back->state.windows.next_close(), kTime + absl::Seconds(80));
  ASSERT_EQ(back->state.windows.all().size(), 2);
  EXPECT_EQ(back->state.windows.all().begin()->second.id, DecisionId{std::byte{2}});
  EXPECT_TRUE(back->former.empty());
  EXPECT_EQ(back->counters, Counters::Encode({5}));
  EXPECT_FALSE(back->state.held.Take({1, {}}));
  const auto held = back->state.held.Take(kHeld);
  ASSERT_TRUE(held);
  EXPECT_THAT(held->gram, ElementsAre(0.25, 0.125, 0.0625));
  EXPECT_THAT(held->moment, ElementsAre(1, 0.5));
  EXPECT_FALSE(back->state.held.Take(kHeld));
}

TEST(CheckpointTest, Version2IsRead) {
  CheckpointFixture fixture;
  fixture.state.held.Clear();
  fixture.state.windows = {};  // which said what they hold
  std::string bytes = fixture.Bytes();
  // None held, no shape, no episode.
  bytes.resize(bytes.size() - sizeof(Sha256Digest) - sizeof(std::uint64_t) - sizeof(std::int32_t) -
               sizeof(std::uint64_t) - 1);
  bytes[8] = 2;
  const Sha256Digest digest = Sha256Of(bytes);
  bytes.append(reinterpret_cast<const char*>(digest.data()), digest.size());
  const auto back = server::DecodeCheckpoint(bytes);
  ASSERT_THAT(back, IsOk());
  EXPECT_EQ(back->state.position, fixture.state.position);
}

TEST(CheckpointTest, EveryFlippedBitAndEveryCutIsFound) {
  const std::string bytes = CheckpointFixture().Bytes();
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string bad = bytes;
    bad[i] = static_cast<char>(bad[i] ^ (1 << (i % 8)));
    EXPECT_THAT(server::DecodeCheckpoint(bad), StatusIs(absl::StatusCode::kDataLoss)) << i;
    EXPECT_THAT(server::DecodeCheckpoint(bytes.substr(0, i)),
                StatusIs(absl::StatusCode::kDataLoss));
  }
}

// Reports that the windows of a model without privacy hold are events of the copy.
TEST(ExportTest, ACopyKeepsStateAndReportsButNoWindows) {
  const CheckpointFixture fixture;
  v1::ModelConfig config;
  config.set_name("m");
  const auto catalogue = Catalogue::Make(2, {{5, {1, 2}, {"tag"}}});
  const std::string bytes = server::EncodeExport(config, fixture.Bytes(), *catalogue);
  auto exported = server::DecodeExport(bytes);
  ASSERT_THAT(exported, IsOk());
  EXPECT_EQ(exported->config.name(), "m");
  ASSERT_EQ(exported->arms.size(), 1);
  EXPECT_THAT(exported->arms.ForEach([](const server::CatalogueArm& arm) {
    EXPECT_THAT(arm.features, ElementsAre(1, 2));
    EXPECT_THAT(arm.tags, ElementsAre("tag"));
    return absl::OkStatus();
  }),
              IsOk());
  InstanceId instance{};
  instance.fill(std::byte{9});
  server::BecomeCopy(exported->checkpoint, instance);
  const auto copy = server::DecodeCheckpoint(server::EncodeAgain(exported->checkpoint));
  ASSERT_THAT(copy, IsOk());
  EXPECT_EQ(copy->instance, instance);
  EXPECT_THAT(copy->users, ElementsAre("ann", "bob"));
  EXPECT_TRUE(copy->state.windows.all().empty());
  EXPECT_EQ(copy->statistics[0].events, 6);
  const auto path = MakePath(testing::WindowSpec(), {}, nullptr);
  ASSERT_THAT(path, IsOk());
  const auto taken = server::CheckpointToExport(
      fixture.Bytes(), **path,
      {{{std::byte{2}}, {.reported = true, .reward = 2}}, {{std::byte{1}}, {.reward = 0.25}}});
  ASSERT_THAT(taken, IsOk());
  const auto with = server::DecodeCheckpoint(*taken);
  ASSERT_THAT(with, IsOk());
  EXPECT_TRUE(with->state.windows.all().empty());
  EXPECT_EQ(with->statistics[0].events, 7);
  EXPECT_THAT(with->statistics[0].moment, ElementsAre(4 + 2 * 0.5, 5 + 2 * 0.25));
  EXPECT_EQ(with->statistics[1].events, 12);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::string bad = bytes;
    bad[i] = static_cast<char>(bad[i] ^ 2);
    EXPECT_THAT(server::DecodeExport(bad), StatusIs(absl::StatusCode::kDataLoss)) << i;
  }
}

// The running hash addresses noise and is published nowhere.
TEST(ExportTest, TheRunningHashStaysBehind) {
  const CheckpointFixture fixture;
  const auto path = MakePath(testing::IndependentSpec(), {}, nullptr);
  ASSERT_THAT(path, IsOk());
  const std::string hash(32, '\1');
  ASSERT_NE(fixture.Bytes().find(hash), std::string::npos);
  const auto once = server::CheckpointToExport(fixture.Bytes(), **path, {});
  const auto again = server::CheckpointToExport(fixture.Bytes(), **path, {});
  ASSERT_THAT(once, IsOk());
  ASSERT_THAT(again, IsOk());
  EXPECT_EQ(once->find(hash), std::string::npos);
  EXPECT_NE(*once, *again) << "fresh bytes each time";
  const auto back = server::DecodeCheckpoint(*once);
  ASSERT_THAT(back, IsOk());
  EXPECT_EQ(back->state.position.sequence, fixture.state.position.sequence);
  EXPECT_EQ(back->statistics[1].events, 12);
}

TEST(CatalogueTest, KeepsTheLastOfEqualIdsInAscendingOrder) {
  const auto catalogue =
      Catalogue::Make(1, {{9, {1}, {}}, {4, {2}, {"t"}}, {9, {3}, {}}, {0, {4}, {}}});
  ASSERT_EQ(catalogue->size(), 3);
  EXPECT_THAT(catalogue->pages()[0]->features(), ElementsAre(4, 2, 3));
  EXPECT_EQ(catalogue->Find(9)->features[0], 3);
  EXPECT_EQ(catalogue->Find(4)->row, 1);
  EXPECT_FALSE(catalogue->Find(1));
}

TEST(CheckArmTest, ClipsToTheBoundOrRefuses) {
  server::ArmRules rules{.dimension = 2, .feature_l2_max = 2};
  std::uint64_t clipped = 0;
  CatalogueArm large{1, {1e200, 1e200}, {}};
  ASSERT_THAT(server::CheckArm(rules, large, clipped), IsOk());
  EXPECT_LE(std::hypot(large.features[0], large.features[1]), 2);
  EXPECT_NEAR(large.features[0], std::sqrt(2.0), 1e-12);
  EXPECT_EQ(clipped, 1);
  CatalogueArm fine{2, {0, 2}, {}};
  ASSERT_THAT(server::CheckArm(rules, fine, clipped), IsOk());
  EXPECT_THAT(fine.features, ElementsAre(0, 2));
  EXPECT_EQ(clipped, 1);
  rules.reject_features = true;
  CatalogueArm refused{3, {3, 0}, {}};
  EXPECT_THAT(server::CheckArm(rules, refused, clipped),
              StatusIs(absl::StatusCode::kInvalidArgument, "arm 3"));
}

}  // namespace
}  // namespace bandana::server
