// Hosted sparse models: episodes of raw rows that the server sums, and what they release.
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/design/mechanisms/sparse_release.h"
#include "common/design/planner/served_config.h"
#include "common/mechanisms/canonical_text.h"
#include "common/model/entries/records.h"
#include "common/model/paths/make_path.h"
#include "server/models/folder/export.h"
#include "server/models/folder/recovery.h"
#include "tests/support/hosted_model_fixture.h"
#include "tests/support/mechanisms.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_rng.h"

namespace bandana::testing {
namespace {

constexpr int kDimension = 12;
constexpr char kOnce[] = "reporting { one_per_decision: true }";

std::string SparseText(const std::string& more = kOnce,
                       const std::string& privacy = "epsilon: 18 delta: 1e-5",
                       const std::string& sparse = "sparsity: 4",
                       const std::string& dimension = "12") {
  return "name: 'm' dimension: " + dimension + " mode: JOINT sparse { " + sparse +
         " } feature_l2_max: 100 reward_min: -4 reward_max: 4 reward_stddev: 0.2"
         " prior_stddev: 0.4 privacy { " +
         privacy + " } " + more;
}

std::shared_ptr<const NoiseKey> Key() {
  std::array<std::byte, 32> bytes{};
  bytes.fill(std::byte{11});
  return std::make_shared<const NoiseKey>(*NoiseKey::FromBytes(bytes));
}

struct Round {
  std::vector<double> x;
  double reward = 0;
};

// Reward x_0 - x_5 and a little noise.
Round RoundOf(std::uint64_t number, int dimension = kDimension) {
  TestRng rng(number + 1);
  Round round{std::vector<double>(dimension)};
  for (double& value : round.x) value = rng.Normal();
  round.reward = round.x[0] - round.x[5] + 0.1 * rng.Normal();
  return round;
}

class SparseServedTest : public HostedModelTest {
 protected:
  SparseServedTest() { options_.noise_key = Key(); }
  v1::OutcomeCode Take(HostedModel& model, std::uint64_t number, const Round& round) {
    return CodeOf(ReportOne(model, DecisionOf(model, clock_, number, round.x), round.reward));
  }
  void TakeMany(HostedModel& model, std::uint64_t first, std::uint64_t count) {
    for (std::uint64_t i = first; i < first + count; ++i) {
      ASSERT_EQ(Take(model, i, RoundOf(i)), v1::APPLIED);
    }
    WaitApplied(model);
  }
  server::Recovered Recover(const ModelSpec& spec, const std::string& folder) {
    UserIndex users;
    Counters counters;
    auto recovered = server::Recover(spec, folder, {.noise_key = Key()}, users, counters);
    EXPECT_THAT(recovered, IsOk());
    return *std::move(recovered);
  }
};

std::vector<double> Dense(const SparseEstimate& estimate) {
  std::vector<double> mean(kDimension);
  for (const SparseEntry& entry : estimate) mean[entry.coordinate] = entry.value;
  return mean;
}

// The pure algorithm over the log's events, with the noise of each episode's address.
SparseBelief ByHand(const ModelSpec& spec, const server::Recovered& recovered) {
  const Fliphat fliphat = testing::FliphatOf(spec);
  FliphatState state = fliphat.Start();
  const auto key = Key();
  std::vector<LogEntry> entries;
  EXPECT_THAT(recovered.log->Read({}, 1000, entries), IsOk());
  for (const LogEntry& entry : entries) {
    const auto record = *Decode(entry.record, kDimension);
    const auto* outcome = std::get_if<OutcomeRecord>(&record);
    if (outcome == nullptr) continue;
    std::vector<double> x(kDimension);
    std::memcpy(x.data(), outcome->event.features.bytes().data(), 8 * x.size());
    CanonicalText parameters(
        absl::StrCat("bandana sparse episode 1 ", ToHex(fliphat.digest()), " "));
    parameters.Add(state.belief.residual_abs_max);
    for (const SparseEntry& one : state.belief.estimate) {
      parameters.Add(static_cast<std::uint64_t>(one.coordinate)).Add(one.value);
    }
    std::unique_ptr<KeyedStream> bits;
    EXPECT_THAT(fliphat.Apply(state, x, outcome->reward,
                              [&](std::uint64_t episode,
                                  const NoiseInput& sums) -> absl::StatusOr<BitSource*> {
                                bits = std::make_unique<KeyedStream>(*KeyedStream::ForNode(
                                    *key, {.instance = recovered.stored.instance,
                                           .epoch = 1,
                                           .parameters = parameters.Hash(),
                                           .node = episode + 1,
                                           .history = entry.position.hash,
                                           .input = sums}));
                                return static_cast<BitSource*>(bits.get());
                              }),
                IsOk());
  }
  return state.belief;
}

TEST_F(SparseServedTest, ServesThePureAlgorithmOnTheKeyedNoise) {
  const ModelSpec spec = SpecOf(SparseText());
  std::vector<double> served;
  {
    const auto model = Open(spec);
    TakeMany(*model, 0, 270);
    served = NodeOf(*model->posterior(), 0).mean;
  }
  const SparseBelief belief = ByHand(spec, Recover(spec, folder_.path()));
  EXPECT_EQ(served, Dense(belief.estimate));
  // It has learnt what there is to learn.
  EXPECT_NEAR(served[0], 1, 0.4);
  EXPECT_NEAR(served[5], -1, 0.4);
}

TEST_F(SparseServedTest, ThePosteriorIsAMeanThatMovesAtTheEndsOfEpisodes) {
  const auto model = Open(SpecOf(SparseText()));
  EXPECT_THAT(NodeOf(*model->posterior(), 0).mean, AllOf(SizeIs(kDimension), Each(0)));
  std::vector<std::uint64_t> moved;
  std::uint64_t version = model->posterior()->version();
  for (std::uint64_t i = 0; i < 40; ++i) {
    TakeMany(*model, i, 1);
    if (model->posterior()->version() != version) moved.push_back(i + 1);
    version = model->posterior()->version();
    EXPECT_THAT(NodeOf(*model->posterior(), 0).covariance, IsEmpty());
    EXPECT_EQ(NodeOf(*model->posterior(), 0).alpha, 0);
  }
  EXPECT_EQ(moved, (std::vector<std::uint64_t>{1, 3, 7, 15, 31}));
}

TEST_F(SparseServedTest, KeepsNoContextBesideTheLogAndTheEpisode) {
  const ModelSpec spec = SpecOf(SparseText());
  const auto model = Open(spec);
  TakeMany(*model, 0, 20);
  const NodeStatistics statistics = StatisticsOf(*model)[0];
  EXPECT_THAT(statistics.gram, IsEmpty());
  EXPECT_THAT(statistics.moment, IsEmpty());
  EXPECT_EQ(statistics.events, 20);
  // An export has what was released, and no sums.
  auto exported = *server::DecodeExport(*model->Export());
  const auto path = *MakePath(spec, exported.checkpoint.instance, Key());
  ASSERT_THAT(server::RestoreStreams(*path, exported.checkpoint), IsOk());
  const ModelState& state = exported.checkpoint.state;
  EXPECT_EQ(state.sparse.rows(), 0);
  EXPECT_EQ(state.sparse.episodes(), 0);
  EXPECT_EQ(Dense(state.sparse.estimate().value()), NodeOf(*model->posterior(), 0).mean);
}

TEST_F(SparseServedTest, AnExportBeforeTheFirstEventHasNoState) {
  const ModelSpec spec = SpecOf(SparseText());
  auto exported = *server::DecodeExport(*Open(spec)->Export());
  ASSERT_EQ(exported.checkpoint.state.position.sequence, 0);
  const auto path = *MakePath(spec, exported.checkpoint.instance, Key());
  ASSERT_THAT(server::RestoreStreams(*path, exported.checkpoint), IsOk());
  EXPECT_EQ(exported.checkpoint.state.sparse.rows(), 0);
  EXPECT_EQ(exported.checkpoint.state.sparse.episodes(), 0);
}

TEST_F(SparseServedTest, WhatIsCountedDoesNotTellAboutContextsOrRewards) {
  const auto model = Open(SpecOf(SparseText()));
  model->CountVectors(3, 3);
  EXPECT_EQ(Take(*model, 1, {std::vector<double>(kDimension, 1.0), 1e6}), v1::APPLIED);
  EXPECT_EQ(Take(*model, 2, {std::vector<double>(kDimension, 1.0), std::nan("")}), v1::APPLIED);
  EXPECT_EQ(model->Stats().features_clipped(), 0);
  EXPECT_EQ(model->Stats().rewards_clipped(), 0);
  EXPECT_TRUE(model->Stats().reports_rejected().empty());
}

// Equal events after equal logs: in one folder through a checkpoint in the middle of an episode, in
// the other from the log alone.
TEST_F(SparseServedTest, TheSameBitsComeOutOfLogAndCheckpoint) {
  const ModelSpec spec = SpecOf(SparseText());
  {
    const auto model = Open(spec);
    TakeMany(*model, 0, 200);
  }
  const TempDir other;
  std::filesystem::copy(
      folder_.path(), other.path(),
      std::filesystem::copy_options::recursive | std::filesystem::copy_options::overwrite_existing);
  {
    const auto model = Open(spec);
    ASSERT_THAT(model->Checkpoint(), IsOk());
  }
  {
    const auto model = Open(spec);
    TakeMany(*model, 200, 100);
  }
  {
    // Entries are random in part, so that the same ones come by copying alone.
    const auto from = *server::OpenLog(*server::DefaultLogEngine(), folder_.path());
    const auto to = *server::OpenLog(*server::DefaultLogEngine(), other.path());
    std::vector<LogEntry> entries;
    ASSERT_THAT(from->Read(to->last(), 1000, entries), IsOk());
    server::LogBatch batch;
    for (const LogEntry& entry : entries) batch.Add(entry.record);
    ASSERT_THAT(to->Append(batch), IsOk());
  }
  const server::Recovered through_checkpoint = Recover(spec, folder_.path());
  const server::Recovered from_log = Recover(spec, other.path());
  ASSERT_EQ(through_checkpoint.state.position.hash, from_log.state.position.hash);
  EXPECT_GT(through_checkpoint.log->trimmed(), 0);
  EXPECT_EQ(from_log.log->trimmed(), 0);
  EXPECT_EQ(from_log.state.sparse.rows(), 300 - 255);
  EXPECT_EQ(through_checkpoint.state.sparse.rows(), 300 - 255);
  EXPECT_FALSE(from_log.state.sparse.estimate().value().empty());
  EXPECT_EQ(through_checkpoint.state.sparse.estimate().value(),
            from_log.state.sparse.estimate().value());
}

TEST_F(SparseServedTest, AnEpochEndsTheOpenEpisodeWithoutARelease) {
  const ModelSpec spec = SpecOf(SparseText());
  const auto model = Open(spec);
  TakeMany(*model, 0, 300);
  const std::vector<double> mean = NodeOf(*model->posterior(), 0).mean;
  EXPECT_THAT(mean, Not(Each(0)));
  EXPECT_EQ(model->Ledger().entries_size(), 1);
  EXPECT_EQ(*model->OpenEpoch(), 2);
  EXPECT_EQ(NodeOf(*model->posterior(), 0).mean, mean);
  EXPECT_EQ(model->Ledger().entries_size(), 1);
  std::uint64_t sequence = model->posterior()->version();
  // The first episode again: one event, behind a debit of its own. So short an episode says nothing
  // of entries.
  TakeMany(*model, 300, 1);
  EXPECT_EQ(model->Ledger().entries_size(), 2);
  EXPECT_GT(model->posterior()->version(), sequence);
  EXPECT_EQ(NodeOf(*model->posterior(), 0).mean, mean);
  TakeMany(*model, 301, 1);
  sequence = model->Stats().log_sequence();
  EXPECT_EQ(model->posterior()->version(), sequence - 1);
}

TEST_F(SparseServedTest, TheLedgerHoldsOneDebitOfOneEvent) {
  const ModelSpec spec = SpecOf(SparseText(kOnce, "epsilon: 2 delta: 1e-6"));
  const auto model = Open(spec);
  TakeMany(*model, 0, 10);
  const v1::GetLedgerResponse ledger = model->Ledger();
  ASSERT_EQ(ledger.entries_size(), 1);
  EXPECT_EQ(ledger.entries(0).log_sequence(), 1);
  EXPECT_EQ(ledger.entries(0).principal(), "node 0");
  EXPECT_EQ(ledger.entries(0).rho(), testing::FliphatOf(spec).rho().value);
  EXPECT_LE(ledger.user().epsilon_zcdp(), 2.001);
  EXPECT_GE(ledger.user().epsilon_zcdp(), 1.9);
  EXPECT_EQ(ledger.epsilon_spent_event(), 2);
  EXPECT_GT(ledger.epsilon_spent_user(), 2);  // ten rounds of one person
  EXPECT_EQ(ledger.mode(), v1::JOINT);
  EXPECT_EQ(ledger.guarantee(), "proven");
}

TEST_F(SparseServedTest, WindowsCloseIntoTheEpisode) {
  const auto model = Open(SpecOf(
      SparseText("reporting { reward_window { duration { seconds: 60 } default_reward: 0.25 } }")));
  const auto decision = DecisionOf(*model, clock_, 1, RoundOf(1).x);
  ASSERT_THAT(model->RecordDecision(decision), IsOk());
  EXPECT_EQ(CodeOf(ReportOne(*model, decision, 0.5)), v1::APPLIED);
  EXPECT_EQ(StatisticsOf(*model)[0].events, 0);
  clock_.Advance(absl::Seconds(78));  // window and grace
  EXPECT_TRUE(Eventually([&] { return StatisticsOf(*model)[0].events == 1; }));
}

TEST_F(SparseServedTest, AModelOf4096FeaturesStaysSmall) {
  const ModelSpec spec =
      SpecOf(absl::StrCat("name: 'm' dimension: 4096 mode: JOINT sparse {} feature_l2_max: 100"
                          " reward_min: -4 reward_max: 4 privacy { epsilon: 2 delta: 1e-5 } ",
                          kOnce));
  const auto take = [&](HostedModel& model, std::uint64_t first, std::uint64_t count) {
    for (std::uint64_t i = first; i < first + count; ++i) {
      ASSERT_EQ(Take(model, i, RoundOf(i, 4096)), v1::APPLIED);
    }
    WaitApplied(model);
  };
  {
    const auto model = Open(spec);
    take(*model, 0, 5);
    EXPECT_LT(model->Checkpoint()->bytes(), 64 * 1024);  // the sums alone are 32 KiB
  }
  const auto model = Open(spec);
  take(*model, 5, 5);
  EXPECT_EQ(StatisticsOf(*model)[0].events, 10);
  EXPECT_THAT(NodeOf(*model->posterior(), 0).mean, SizeIs(4096));
}

TEST_F(SparseServedTest, WhatCalibratesTheNoiseIsFixed) {
  { const auto model = Open(SpecOf(SparseText())); }
  EXPECT_THAT(TryOpen(SpecOf(SparseText(kOnce, "epsilon: 18 delta: 1e-5", "sparsity: 5"))),
              StatusIs(absl::StatusCode::kInvalidArgument, "sparse is entries 4"));
  EXPECT_THAT(TryOpen(SpecOf(
                  SparseText(kOnce, "epsilon: 18 delta: 1e-5", "sparsity: 4 context_abs_max: 1"))),
              StatusIs(absl::StatusCode::kInvalidArgument, "sparse is entries 4"));
  EXPECT_THAT(TryOpen(SpecOf(SparseText(kOnce, "epsilon: 17 delta: 1e-5"))),
              StatusIs(absl::StatusCode::kInvalidArgument, "epsilon is 18"));
}

// One stream without a model around it.
class SparseStreamTest : public ::testing::Test {
 protected:
  NoiseOrigin Origin(std::uint64_t event) const {
    NoiseOrigin origin{.key = key_.get(), .epoch = 1};
    std::memcpy(origin.history.data(), &event, sizeof event);
    return origin;
  }
  void Feed(SparseStream& stream, std::uint64_t first, std::uint64_t count) const {
    for (std::uint64_t i = first; i < first + count; ++i) {
      const Round round = RoundOf(i);
      ASSERT_THAT(stream.Step(round.x, round.reward, model_, Origin(i)), IsOk());
    }
  }
  static std::string BytesOf(const SparseStream& stream) {
    std::string bytes;
    ByteWriter out(bytes);
    stream.Encode(out);
    return bytes;
  }
  absl::Status Read(const std::string& bytes) const {
    SparseStream stream;
    ByteReader in(bytes);
    const absl::Status status = stream.Decode(in, model_);
    if (!status.ok() || in.Done()) return status;
    return DataLoss("bytes are left");
  }

  const std::shared_ptr<const NoiseKey> key_ = Key();
  const Fliphat model_ = testing::FliphatOf(SpecOf(SparseText()));
};

// A round's data reaches nothing before the end of its episode, and other rounds' sums never.
TEST_F(SparseStreamTest, ARoundReachesNothingBeforeTheEndOfItsEpisode) {
  SparseStream one;
  SparseStream other;
  constexpr std::uint64_t kReplaced = 130;  // in the episode of the events 127 .. 254
  for (std::uint64_t i = 0; i < 300; ++i) {
    const Round round = RoundOf(i);
    const Round neighbour =
        i == kReplaced ? Round{std::vector<double>(kDimension, -1e9), 1e300} : round;
    const auto a = *one.Step(round.x, round.reward, model_, Origin(i));
    const auto b = *other.Step(neighbour.x, neighbour.reward, model_, Origin(i));
    ASSERT_EQ(a, b) << "when an episode ends does not depend on what rounds hold";
    ASSERT_EQ(one.rows(), other.rows());
    if (i < 254) {
      ASSERT_EQ(one.estimate().value(), other.estimate().value()) << i;
    }
  }
}

TEST_F(SparseStreamTest, EverythingComesBackInTheMiddleOfAnEpisode) {
  SparseStream whole;
  Feed(whole, 0, 180);
  const std::string bytes = BytesOf(whole);
  SparseStream back;
  ByteReader in(bytes);
  ASSERT_THAT(back.Decode(in, model_), IsOk());
  EXPECT_TRUE(in.Done());
  EXPECT_EQ(BytesOf(back), bytes);
  Feed(whole, 180, 100);
  Feed(back, 180, 100);
  EXPECT_EQ(back.estimate().value(), whole.estimate().value());
  EXPECT_EQ(back.rows(), whole.rows());
  EXPECT_THAT(Read(BytesOf(SparseStream())), IsOk());
}

TEST_F(SparseStreamTest, ClosingErasesTheSumsAndKeepsTheEstimate) {
  SparseStream stream;
  stream.Close();
  Feed(stream, 0, 300);
  const SparseEstimate estimate = stream.estimate().value();
  ASSERT_FALSE(estimate.empty());
  stream.Close();
  EXPECT_EQ(stream.estimate().value(), estimate);
  EXPECT_EQ(stream.rows(), 0);
  EXPECT_EQ(stream.episodes(), 0);
  // The stored bytes hold no sums either: twelve zeros, count, energy and rows.
  EXPECT_TRUE(BytesOf(stream).ends_with(std::string((3 + kDimension) * 8, '\0')));
}

TEST_F(SparseStreamTest, AnotherHistoryEpochOrInstanceGetsOtherNoise) {
  const auto released = [&](auto change) {
    SparseStream stream;
    for (std::uint64_t i = 0; i < 255; ++i) {
      NoiseOrigin origin = Origin(i);
      if (i == 254) change(origin);
      const Round round = RoundOf(i);
      EXPECT_THAT(stream.Step(round.x, round.reward, model_, origin), IsOk());
    }
    return stream.estimate().value();
  };
  const SparseEstimate same = released([](NoiseOrigin&) {});
  ASSERT_FALSE(same.empty());
  EXPECT_EQ(released([](NoiseOrigin&) {}), same);
  EXPECT_NE(released([](NoiseOrigin& origin) { origin.history[9] = std::byte{1}; }), same);
  EXPECT_NE(released([](NoiseOrigin& origin) { origin.epoch = 2; }), same);
  EXPECT_NE(released([](NoiseOrigin& origin) { origin.instance[0] = std::byte{1}; }), same);
}

TEST_F(SparseStreamTest, RefusesBytesThatAreNoState) {
  SparseStream stream;
  Feed(stream, 0, 280);
  const std::string bytes = BytesOf(stream);
  ASSERT_THAT(Read(bytes), IsOk());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THAT(Read(bytes.substr(0, size)), StatusIs(absl::StatusCode::kDataLoss, "")) << size;
  }
  const auto with = [&bytes](std::size_t at, auto value) {
    std::string changed = bytes;
    std::memcpy(changed.data() + at, &value, sizeof value);
    return changed;
  };
  const auto lost = [](const std::string& message) {
    return StatusIs(absl::StatusCode::kDataLoss, message);
  };
  // presence 1, episode 8, R 8, number 4, entries of 12; then a length, rows, count, energy, sums
  EXPECT_THAT(Read(with(1, std::uint64_t{41})), lost("episode 41"));
  EXPECT_THAT(Read(with(1, std::uint64_t{2})), lost("episode 2 of a sparse model has 25 events"));
  EXPECT_THAT(Read(with(9, std::nan(""))), lost("clip is out of range"));
  EXPECT_THAT(Read(with(9, 1e9)), lost("clip is out of range"));
  EXPECT_THAT(Read(with(17, std::uint32_t{5})), lost("has 5 entries, the model at most 4"));
  EXPECT_THAT(Read(with(21, std::int32_t{kDimension})), lost("entry is out of range"));
  EXPECT_THAT(Read(with(21, std::int32_t{-1})), lost("entry is out of range"));
  EXPECT_THAT(Read(with(25, std::nan(""))), lost("entry is out of range"));
  const std::size_t sums = bytes.size() - (3 + kDimension) * 8;
  EXPECT_THAT(Read(with(sums + 8, std::int64_t{26})), lost("the count or the energy"));
  EXPECT_THAT(Read(with(sums + 16, std::int64_t{-1})), lost("the count or the energy"));
  EXPECT_THAT(Read(with(sums + 24, std::int64_t{1} << 40)), lost("a sum is out of range"));
  EXPECT_THAT(Read(with(sums, std::uint64_t{1} << 63)), lost("more than 2^40 rows"));
}

struct Mistake {
  std::string config;
  std::string field;
  std::string message;  // a part of it
};

TEST(SparseConfigTest, RefusesWhatHasNoProofOrNoRoom) {
  const std::string private_part = "privacy { epsilon: 2 delta: 1e-5 } ";
  const std::vector<Mistake> mistakes = {
      {SparseText(kOnce, "epsilon: 2 delta: 1e-5", "sparsity: 13"), "sparse.sparsity", "[1, 12]"},
      {SparseText(kOnce, "epsilon: 2 delta: 1e-5", "context_stddev: nan"), "sparse.context_stddev",
       "(0, 1e+06]"},
      {SparseText(kOnce, "epsilon: 2 delta: 1e-5", "context_abs_max: -1"), "sparse.context_abs_max",
       "(0, 1e+06]"},
      {SparseText(kOnce, "epsilon: 2"), "privacy.delta", "must be above 0 for SPARSE_RELEASE"},
      {SparseText(kOnce, "epsilon: 2 delta: 1e-5 mechanism: COUNTER"), "privacy.mechanism",
       "must be AUTO or SPARSE_RELEASE"},
      {SparseText(kOnce, "epsilon: 1e-5 delta: 1e-12"), "sparse", "epsilon is too small"},
      {SparseText(std::string(kOnce) + " feature_out_of_range: REJECT"), "feature_out_of_range",
       "must be CLIP"},
      {SparseText(""), "reporting", "is required for a private model"},
      {SparseText(std::string(kOnce) + " arms_max: 1000000", "epsilon: 2 delta: 1e-5", "", "4096"),
       "arms_max", "[1, 62500]"},
      {SparseText(kOnce, "epsilon: 2 delta: 1e-5", "", "4097"), "dimension", "[1, 4096]"},
      {"name: 'm' dimension: 300 mode: JOINT shared {} " + private_part + kOnce, "dimension",
       "[1, 256]"},
      {"name: 'm' dimension: 12 sparse {} mode: NON_PRIVATE", "mode", "must be JOINT"},
      {"name: 'm' dimension: 12 mode: JOINT shared {} privacy { epsilon: 2 delta: 1e-5 "
       "mechanism: SPARSE_RELEASE } " +
           std::string(kOnce),
       "privacy.mechanism", "SPARSE_RELEASE is for sparse models"},
  };
  for (const Mistake& mistake : mistakes) {
    SCOPED_TRACE(mistake.config);
    v1::ModelConfig config;
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(mistake.config, &config));
    std::vector<ConfigError> errors;
    EXPECT_FALSE(ParseServedModel(config, "", false, errors).has_value());
    ASSERT_FALSE(errors.empty());
    EXPECT_EQ(errors[0].field, mistake.field);
    EXPECT_THAT(errors[0].message, HasSubstr(mistake.message));
  }
}

TEST(SparseConfigTest, DefaultsFollowTheFeaturesAndThePrior) {
  const ModelSpec spec = SpecOf(SparseText(kOnce, "epsilon: 2 delta: 1e-5", ""));
  EXPECT_EQ(spec.public_spec.mechanism, MechanismId::kSparseRelease);
  EXPECT_EQ(spec.public_spec.guarantee, "proven");
  EXPECT_EQ(spec.sparse->sparsity, 10);
  EXPECT_EQ(spec.sparse->context_abs_max, 0.5);
  // |theta| = sqrt(12) 0.4, rewards' own deviation 0.2
  EXPECT_NEAR(ResidualAbsMax(spec), std::sqrt(12 * 0.16 + 0.04), 1e-12);
  ModelSpec vague = spec;
  vague.theta_l2_max = 1e6;
  EXPECT_EQ(ResidualAbsMax(vague), 4);  // no reward is larger
  EXPECT_EQ(SpecOf("name: 'm' dimension: 3 mode: JOINT sparse {} privacy { epsilon: 2 delta: "
                   "1e-5 } reporting { one_per_decision: true }")
                .sparse->sparsity,
            3);
}

}  // namespace
}  // namespace bandana::testing
