#include "common/decisions/stored_decision.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/decisions/joined_decision.h"
#include "common/decisions/segment.h"
#include "tests/support/status_matchers.h"
#include "tests/support/stored_decisions.h"

namespace bandana::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A list of two slots among four arms, with everything that a decision may have.
StoredDecision WholeList() {
  StoredDecision list = DecisionOf(3, 4);
  list.ids.clear();
  list.names = {"a", "bb", "", "dddd"};
  list.deferred = true;
  list.baseline = true;
  list.offered = 9;
  list.slots[0].law = {0.5, 0.25, 0.25, 0};
  list.slots[0].chosen = 1;
  list.slots.push_back({.id = IdOf(4), .chosen = 2, .law = {0.75, kNotOffered, 0.25, 0}});
  list.ranks = {{.position = 1, .mark = 77, .window = StoredWindow{-0.5, 1.5, 0.25}},
                {.position = 2, .mark = 78, .window = StoredWindow{-0.25, 1.25, 0.5}}};
  list.features = {1, 2, 3, 4, 5, 6, 7, 8};
  list.context = R"({"hour":7})";
  return list;
}

TEST(StoredDecisionTest, ReadsWhatWasWritten) {
  StoredDecision read;
  for (const StoredDecision& decision : {DecisionOf(1), DecisionOf(0, 1), WholeList()}) {
    ASSERT_THAT(DecodeDecision(BytesOf(decision), read), IsOk());
    EXPECT_EQ(read, decision);
  }
}

// 25 x (4 + 8 + 4) = 400, and with frame, user and reward at most 520.
TEST(StoredDecisionTest, A25ArmDecisionWithItsRewardTakesAtMost520Bytes) {
  StoredDecision decision = DecisionOf(1);
  decision.version = std::uint64_t{1} << 40;
  decision.epoch = 1'000'000;
  const std::size_t bytes = BytesOf(decision).size() + kFrameHeadBytes;
  EXPECT_LE(bytes + kUserRowBytes + kRewardRowBytes, 520u);
  EXPECT_GE(bytes, 400u);
}

TEST(StoredDecisionTest, RefusesEveryCutAndEveryLongerText) {
  const std::string bytes = BytesOf(WholeList());
  StoredDecision read;
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_THAT(DecodeDecision(bytes.substr(0, length), read),
                StatusIs(absl::StatusCode::kDataLoss));
  }
  EXPECT_THAT(DecodeDecision(bytes + "x", read), StatusIs(absl::StatusCode::kDataLoss));
}

TEST(StoredDecisionTest, RefusesAnImpossibleLaw) {
  for (const double p : {-0.5, 1.5, std::numeric_limits<double>::quiet_NaN()}) {
    StoredDecision decision = DecisionOf(1, 3);
    decision.slots[0].law[1] = p;
    StoredDecision read;
    EXPECT_THAT(DecodeDecision(BytesOf(decision), read), StatusIs(absl::StatusCode::kDataLoss));
  }
}

TEST(StoredDecisionTest, AnArmsMarkIsOfItsFeaturesAndKeys) {
  const std::string features(16, 'x');
  EXPECT_EQ(ArmMark(features, {}), ArmMark(features, std::string_view("")));
  EXPECT_NE(ArmMark(features, {}), 0u);
  EXPECT_NE(ArmMark(features, {}), ArmMark(std::string(16, 'y'), {}));
  EXPECT_NE(ArmMark(features, "12345678"), ArmMark(features, "12345679"));
}

TEST(SegmentTest, HeaderIsReadAsItWasWritten) {
  const SegmentHeader header{.kind = SegmentKind::kRewards,
                             .instance = IdOf(9),
                             .made = absl::FromUnixSeconds(1'700'000'000),
                             .range = {.min = -1, .max = 2},
                             .form = RewardForm::kCentredShare,
                             .epsilon = 2,
                             .low = -0.3,
                             .high = 1.3,
                             .clipped = true,
                             .reported_within = absl::Hours(24),
                             .first_sequence = 1234};
  const std::string bytes = EncodeHeader(header);
  ASSERT_EQ(bytes.size(), kSegmentHeaderBytes);
  const auto read = DecodeHeader(bytes);
  ASSERT_THAT(read.status(), IsOk());
  EXPECT_EQ(EncodeHeader(*read), bytes);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string flipped = bytes;
    flipped[i] = static_cast<char>(flipped[i] ^ 4);
    EXPECT_THAT(DecodeHeader(flipped).status(), StatusIs(absl::StatusCode::kDataLoss)) << i;
  }
}

TEST(SegmentTest, CursorPassesOverDamageAndStopsAtACut) {
  std::string segment(kSegmentHeaderBytes, 'h');
  for (int i = 0; i < 3; ++i) AppendFrame(BytesOf(DecisionOf(i)), segment);
  const std::size_t frame = (segment.size() - kSegmentHeaderBytes) / 3;
  segment[kSegmentHeaderBytes + frame + 100] ^= 1;
  AppendFrame(BytesOf(DecisionOf(3)), segment);
  const std::string erased = ErasedFrame(frame);
  segment.replace(kSegmentHeaderBytes, frame, erased);
  FrameCursor cursor(std::string_view(segment).substr(0, segment.size() - 1));
  EXPECT_EQ(cursor.Next(), FrameCursor::Found::kErased);
  EXPECT_EQ(cursor.Next(), FrameCursor::Found::kDamaged);
  EXPECT_EQ(cursor.Next(), FrameCursor::Found::kDecision);
  EXPECT_EQ(cursor.offset(), kSegmentHeaderBytes + 2 * frame);
  EXPECT_EQ(cursor.Next(), FrameCursor::Found::kEnd);
  EXPECT_EQ(cursor.end(), kSegmentHeaderBytes + 3 * frame);
}

TEST(SegmentTest, RowsAreReadAsTheyWereWritten) {
  std::string segment(kSegmentHeaderBytes, 'h');
  const RewardRow event{.decision = IdOf(1), .value = -0.25, .sequence = 507, .mark = 9};
  const RewardRow active{.kind = RewardKind::kActive, .decision = IdOf(2), .sequence = 501};
  AppendRow(event, 500, segment);
  AppendRow(active, 500, segment);
  segment += ErasedRewardRow() + "cut";
  ASSERT_EQ(RewardRows(segment), 3u);
  EXPECT_EQ(RewardRowAt(segment, 500, 0), event);
  EXPECT_EQ(RewardRowAt(segment, 500, 1), active);
  EXPECT_EQ(RewardRowAt(segment, 500, 2), std::nullopt);
  segment[kSegmentHeaderBytes + 20] ^= 1;
  EXPECT_EQ(RewardRowAt(segment, 500, 0), std::nullopt);
}

// The line that Join makes of a decision whose rows are these.
std::optional<LoggedDecision> Joined(const SegmentHeader& header, const StoredDecision& decision,
                                     const std::vector<RewardRow>& rows,
                                     absl::Time now = absl::InfinitePast()) {
  std::map<StoredId, DecisionOutcome> outcomes;
  for (const RewardRow& row : rows) outcomes[row.decision].Add(row);
  LoggedDecision joined;
  const bool line = Join(
      header, decision,
      [&](const StoredId& id) -> const DecisionOutcome* {
        const auto found = outcomes.find(id);
        return found == outcomes.end() ? nullptr : &found->second;
      },
      now, joined);
  return line ? std::optional(joined) : std::nullopt;
}

TEST(JoinedDecisionTest, ARewardIsOpenThenKnownOrUnreported) {
  const SegmentHeader header{.range = {.min = 0, .max = 1}, .reported_within = absl::Hours(1)};
  const StoredDecision decision = DecisionOf(2, 3);
  EXPECT_EQ(Joined(header, decision, {})->slots[0].state, RewardState::kPending);
  const absl::Time over = decision.time + absl::Hours(1);
  EXPECT_EQ(Joined(header, decision, {}, over)->slots[0].state, RewardState::kUnreported);
  const auto known = Joined(header, decision, {RewardOf(2, 8, 0.5), RewardOf(2, 8, 0.5)}, over);
  EXPECT_EQ(known->slots[0].state, RewardState::kKnown);
  EXPECT_EQ(known->slots[0].reward, 0.5);
  EXPECT_EQ(known->slots[0].chosen, 2u);
  EXPECT_EQ(known->slots[0].chosen_p, 1.0 / 3);
  EXPECT_EQ(known->named_rank, 0u);
  EXPECT_FALSE(known->slots[0].released.has_value());
  EXPECT_TRUE(known->slots[0].whole_law());
}

// 0.03f is 0.029999999329447746: as text it would be longer than all else of an arm.
TEST(JoinedDecisionTest, PredictionsAreShortDecimals) {
  StoredDecision decision = DecisionOf(0, 4);
  decision.q = {0.03f, 0.1234567f, 1, 0};
  EXPECT_THAT(Joined({.range = {.min = 0, .max = 1}}, decision, {})->slots[0].q,
              ElementsAre(0.03, 0.1234567, 1, 0));
  decision.q = {-250.125f, 1000, 3, 0.25f};
  EXPECT_THAT(Joined({.range = {.min = -1000, .max = 1000}}, decision, {})->slots[0].q,
              ElementsAre(-250.125, 1000, 3, 0.25));
}

TEST(JoinedDecisionTest, AReleasedRewardHasTheLawOfItsWindow) {
  SegmentHeader header{.range = {.min = 0, .max = 1}, .epsilon = 1, .low = -0.5, .high = 1.5};
  StoredDecision decision = DecisionOf(0, 2);
  const auto whole = Joined(header, decision, {RewardOf(0, 8, 1.5)});
  EXPECT_EQ(whole->slots[0].released, (ReleaseLaw{.epsilon = 1, .low = -0.5, .high = 1.5}));
  header.clipped = true;
  decision.ranks = {{.window = StoredWindow{.low = -0.125, .high = 0.375, .scale = 4}}};
  const auto windowed = Joined(header, decision, {RewardOf(0, 8, 1.5)});
  EXPECT_EQ(windowed->slots[0].reward, 0.375);
  EXPECT_EQ(windowed->slots[0].released,
            (ReleaseLaw{.epsilon = 1, .low = -0.125, .high = 0.375, .clipped = true}));
}

// Tsallis-INF: the log has (r - 0.5) / p.
TEST(JoinedDecisionTest, ACentredShareBecomesTheReward) {
  const SegmentHeader header{.range = {.min = 0, .max = 1}, .form = RewardForm::kCentredShare};
  const auto joined = Joined(header, DecisionOf(1, 4), {RewardOf(1, 8, (0.75 - 0.5) / 0.25)});
  EXPECT_EQ(joined->slots[0].reward, 0.75);
}

TEST(JoinedDecisionTest, ADeferredDecisionIsALineFromItsActivationOn) {
  StoredDecision decision = DecisionOf(1, 2);
  decision.deferred = true;
  EXPECT_EQ(Joined({.range = {.min = 0, .max = 1}}, decision, {}), std::nullopt);
  const RewardRow active{.kind = RewardKind::kActive, .decision = IdOf(1)};
  EXPECT_EQ(Joined({.range = {.min = 0, .max = 1}}, decision, {active})->slots[0].state,
            RewardState::kPending);
  EXPECT_EQ(Joined({.range = {.min = 0, .max = 1}}, decision, {RewardOf(1, 3, 1)})->slots[0].state,
            RewardState::kKnown);
}

// Windows that the server closes have an event each: a decision without one had none opened.
TEST(JoinedDecisionTest, ADecisionWhoseWindowWasNotOpenedIsNoLine) {
  SegmentHeader header{
      .range = {.min = 0, .max = 1}, .closes_windows = true, .reported_within = absl::Hours(1)};
  const StoredDecision decision = DecisionOf(1, 2);
  const auto joined = [&](absl::Time now, std::vector<RewardRow> rows) {
    return Joined(header, decision, rows, now);
  };
  EXPECT_TRUE(joined(decision.time + absl::Minutes(59), {}));
  EXPECT_FALSE(joined(decision.time + absl::Hours(1), {}));
  EXPECT_TRUE(joined(decision.time + absl::Hours(1), {RewardOf(1, 8, 0.5)}));
  header.closes_windows = false;
  EXPECT_EQ(joined(decision.time + absl::Hours(1), {})->slots[0].state, RewardState::kUnreported);
  const auto read = DecodeHeader(EncodeHeader(header));
  header.closes_windows = true;
  header.clipped = true;
  ASSERT_TRUE(read.ok());
  EXPECT_FALSE(read->closes_windows);
  EXPECT_TRUE(DecodeHeader(EncodeHeader(header))->closes_windows);
  EXPECT_TRUE(DecodeHeader(EncodeHeader(header))->clipped);
}

TEST(JoinedDecisionTest, TheRankThatTheReportNamedIsSaid) {
  StoredDecision decision = DecisionOf(0, 3);
  decision.ranks = {{.position = 0, .mark = 11}, {.position = 2, .mark = 12}};
  RewardRow row = RewardOf(0, 8, 1);
  row.mark = 11;
  EXPECT_EQ(Joined({.range = {.min = 0, .max = 1}}, decision, {row})->named_rank, 0u);
  row.mark = 12;
  const auto named = Joined({.range = {.min = 0, .max = 1}}, decision, {row});
  EXPECT_EQ(named->named_rank, 1u);
  EXPECT_EQ(named->slots[0].chosen, 2u);
  row.mark = 0;  // a window's close, after the entry that says what was shown
  EXPECT_EQ(
      Joined({.range = {.min = 0, .max = 1}}, decision,
             {{.kind = RewardKind::kShown, .decision = IdOf(0), .sequence = 7, .mark = 12}, row})
          ->named_rank,
      1u);
  decision.shown = 1;
  EXPECT_EQ(Joined({.range = {.min = 0, .max = 1}}, decision, {row})->named_rank, 1u);
}

TEST(JoinedDecisionTest, EachSlotHasTheArmsThatItCouldGet) {
  StoredDecision list = WholeList();
  list.deferred = list.baseline = false;
  list.ranks.clear();
  list.offered = 4;
  const auto joined = Joined({.range = {.min = 0, .max = 1}}, list, {RewardOf(4, 8, 1)});
  ASSERT_EQ(joined->slots.size(), 2u);
  EXPECT_EQ(joined->slots[0].state, RewardState::kPending);
  EXPECT_EQ(joined->slots[1].state, RewardState::kKnown);
  EXPECT_THAT(joined->slots[0].p, ElementsAre(0.5, 0.25, 0.25, 0));
  EXPECT_THAT(joined->slots[1].p, ElementsAre(0.75, 0.25, 0));
  EXPECT_THAT(joined->slots[1].names, ElementsAre("a", "", "dddd"));
  EXPECT_THAT(joined->slots[1].x, ElementsAre(1, 2, 5, 6, 7, 8));
  EXPECT_EQ(joined->slots[1].offered, 3u);
  EXPECT_EQ(joined->slots[1].chosen, 1u);
}

// Else an arm behind the one of the slot before would be taken for it.
TEST(JoinedDecisionTest, ArmsThatAreTheirPositionsStandInEachSlotOfAList) {
  StoredDecision decision = DecisionOf(1, 3);
  decision.ids.clear();
  decision.ranks.resize(2);
  decision.slots.push_back({.id = IdOf(2), .chosen = 2, .law = {0.25, kNotOffered, 0.75}});
  const auto joined = Joined({.range = {.min = 0, .max = 1}}, decision, {});
  EXPECT_EQ(joined->slots[0].chosen, 1u);
  const LoggedSlot& second = joined->slots[1];
  EXPECT_EQ(second.chosen, 2u);
  EXPECT_EQ(second.offered, 3u);
  EXPECT_THAT(second.p, ElementsAre(0.25, 0, 0.75));
  EXPECT_EQ(second.chosen_p, 0.75);
}

TEST(JoinedDecisionTest, ABaselineHasTheModelsOwnLawBesideItsOwn) {
  StoredDecision decision = DecisionOf(1, 2);
  decision.baseline = true;
  decision.slots[0].law = {0.75, 0.25};
  const auto joined = Joined({.range = {.min = 0, .max = 1}}, decision, {});
  EXPECT_TRUE(joined->slots[0].baseline);
  EXPECT_THAT(joined->slots[0].p, ElementsAre(0, 1));
  EXPECT_THAT(joined->slots[0].own_law, ElementsAre(0.75, 0.25));
  EXPECT_EQ(joined->slots[0].chosen_p, 1);
}

}  // namespace
}  // namespace bandana::testing
