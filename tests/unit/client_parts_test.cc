// The SDK's small pure parts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <limits>
#include <numeric>
#include <thread>
#include <vector>

#include "client/core/backoff.h"
#include "client/core/delivery/queue_slots.h"
#include "client/core/delivery/window_timer.h"
#include "client/core/features.h"
#include "client/core/handle.h"
#include "client/core/messages.h"
#include "client/core/release.h"
#include "client/core/report_bytes.h"
#include "client/core/selection/posteriors.h"
#include "client/core/selection/selector.h"
#include "client/src/base/entrance.h"
#include "client/src/base/once.h"
#include "client/src/base/scheduler.h"
#include "common/base/own_number.h"
#include "tests/support/seeded_bits.h"
#include "tests/support/status_matchers.h"

namespace bandana::device {
namespace {

using namespace bandana::testing;

constexpr std::uint64_t kAllOnes = std::numeric_limits<std::uint64_t>::max();

TEST(BackoffTest, DoublesWithinItsBoundsAndJittersUpToHalf) {
  const BackoffOptions options = {absl::Milliseconds(20), absl::Seconds(2)};
  const struct {
    int attempt;
    absl::Duration cap;
  } cases[] = {{0, absl::Milliseconds(20)},
               {1, absl::Milliseconds(40)},
               {6, absl::Milliseconds(1280)},
               {7, absl::Seconds(2)},
               {1000, absl::Seconds(2)}};
  for (const auto& each : cases) {
    EXPECT_EQ(Backoff(options, each.attempt, 0), each.cap / 2);
    EXPECT_GT(Backoff(options, each.attempt, kAllOnes), each.cap * 0.999);
    EXPECT_LE(Backoff(options, each.attempt, kAllOnes), each.cap);
  }
}

TEST(BackoffTest, PushbackLengthensThePause) {
  const BackoffOptions options = {absl::Milliseconds(20), absl::Seconds(2)};
  const auto pause = [&](std::optional<absl::Duration> pushback) {
    return BackoffWithPushback(options, 0, 0, pushback);
  };
  EXPECT_EQ(pause(std::nullopt), absl::Milliseconds(10));
  EXPECT_EQ(pause(absl::ZeroDuration()), absl::Milliseconds(10));
  EXPECT_EQ(pause(absl::Milliseconds(300)), absl::Milliseconds(300));
  EXPECT_EQ(pause(absl::Hours(5)), absl::Minutes(1));
  EXPECT_EQ(pause(absl::Milliseconds(-1)), absl::Seconds(2));
  EXPECT_EQ(pause(-absl::InfiniteDuration()), absl::Seconds(2));
}

TEST(BackoffTest, OnlyBindingRefusalsEndAReport) {
  using absl::StatusCode;
  for (const StatusCode code :
       {StatusCode::kUnavailable, StatusCode::kDeadlineExceeded, StatusCode::kResourceExhausted,
        StatusCode::kInternal, StatusCode::kUnknown, StatusCode::kAborted, StatusCode::kCancelled,
        StatusCode::kUnauthenticated, StatusCode::kPermissionDenied, StatusCode::kDataLoss}) {
    EXPECT_EQ(VerdictOf(code, 1), Verdict::kRetry) << absl::StatusCodeToString(code);
    EXPECT_EQ(VerdictOf(code, 9), Verdict::kRetry) << absl::StatusCodeToString(code);
  }
  for (const StatusCode code :
       {StatusCode::kInvalidArgument, StatusCode::kNotFound, StatusCode::kFailedPrecondition,
        StatusCode::kUnimplemented, StatusCode::kOutOfRange, StatusCode::kAlreadyExists}) {
    EXPECT_EQ(VerdictOf(code, 1), Verdict::kReject) << absl::StatusCodeToString(code);
    EXPECT_EQ(VerdictOf(code, 2), Verdict::kSplit) << absl::StatusCodeToString(code);
  }
}

Handle SomeHandle() {
  return {.identity = std::string(16, 'i'),
          .number = 123456789012,
          .policy = 7,
          .ranks = 2,
          .user = std::string("u\0\xff", 3),
          .token = "token",
          .features = std::string(32, '\x01')};
}

TEST(HandleTest, RoundTrips) {
  const auto decoded = DecodeHandle(Encode(SomeHandle()));
  ASSERT_THAT(decoded, IsOk());
  EXPECT_EQ(decoded->identity, SomeHandle().identity);
  EXPECT_EQ(decoded->number, 123456789012);
  EXPECT_EQ(decoded->policy, 7);
  EXPECT_EQ(decoded->ranks, 2);
  EXPECT_EQ(decoded->user, SomeHandle().user);
  EXPECT_EQ(decoded->token, "token");
  EXPECT_EQ(decoded->features, SomeHandle().features);
}

TEST(HandleTest, ADeferredOneSaysWhenAndInWhichEpochItWasMade) {
  Handle handle = SomeHandle();
  handle.deferral = {.decided = absl::FromUnixMicros(1234567), .epoch = 9};
  const auto decoded = DecodeHandle(Encode(handle));
  ASSERT_THAT(decoded, IsOk());
  ASSERT_TRUE(decoded->deferral.has_value());
  EXPECT_EQ(decoded->deferral->decided, handle.deferral->decided);
  EXPECT_EQ(decoded->deferral->epoch, 9);
  EXPECT_EQ(decoded->token, "token");
  EXPECT_FALSE(DecodeHandle(Encode(SomeHandle()))->deferral.has_value());
}

TEST(HandleTest, NoBytesFromOutsideAreTrusted) {
  const std::string good = Encode(SomeHandle());
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_THAT(DecodeHandle(good.substr(0, size)), StatusIs(absl::StatusCode::kInvalidArgument));
  }
  EXPECT_THAT(DecodeHandle(good + "x"), StatusIs(absl::StatusCode::kInvalidArgument));
  for (const int ranks : {0, 101, -1}) {
    Handle handle = SomeHandle();
    handle.ranks = ranks;
    EXPECT_THAT(DecodeHandle(Encode(handle)), StatusIs(absl::StatusCode::kInvalidArgument));
  }
  // Every single changed byte either is refused or decodes to something of the same size.
  SeededBits bits(20250601);
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string changed = good;
    changed[i] = static_cast<char>(*bits.NextWord());
    if (const auto decoded = DecodeHandle(changed); decoded.ok()) {
      EXPECT_EQ(Encode(*decoded), changed);
    }
  }
}

TEST(QueueSlotsTest, ServesWaitersInOrderAndTurnsAwayTooMany) {
  QueueSlots slots(2);
  std::vector<std::string> log;
  const auto acquire = [&](const std::string& name, ClientOptions::WhenFull when_full) {
    slots.Acquire(when_full, [&log, name](const absl::Status& status) {
      log.push_back(name + (status.ok() ? "" : "!"));
    });
  };
  const auto block = ClientOptions::WhenFull::kBlock;
  const auto drop = ClientOptions::WhenFull::kDrop;
  acquire("a", block);
  acquire("b", drop);
  acquire("c", drop);
  EXPECT_FALSE(slots.TryAcquire());
  acquire("d", block);
  acquire("e", block);
  acquire("f", block);  // as many wait as there are slots
  EXPECT_THAT(log, ElementsAre("a", "b", "c!", "f!"));
  slots.Release();
  slots.Release();
  EXPECT_THAT(log, ElementsAre("a", "b", "c!", "f!", "d", "e"));
  EXPECT_EQ(slots.used(), 2);
  slots.Release();
  EXPECT_TRUE(slots.TryAcquire());
  slots.Force(3);  // from an earlier run
  EXPECT_EQ(slots.used(), 5);
  acquire("g", block);
  slots.Release();
  slots.Release();
  slots.Release();
  EXPECT_EQ(log.back(), "e");  // still full
  acquire("h", block);
  slots.Close();
  acquire("i", block);
  EXPECT_THAT(log, ElementsAre("a", "b", "c!", "f!", "d", "e", "g!", "h!", "i!"));
}

TEST(FeaturesTest, ClipsOntoTheBall) {
  const std::vector<double> arms = {3, 4, 0.6, 0.8, 0, 0, 1e300, 1e300, 1e-300, 0};
  const auto clipped = ClipArms(arms, 2, 1.0, false);
  ASSERT_THAT(clipped, IsOk());
  const double half = std::sqrt(0.5);
  EXPECT_THAT(*clipped, ElementsAre(DoubleNear(0.6, 1e-15), DoubleNear(0.8, 1e-15), 0.6, 0.8, 0, 0,
                                    DoubleNear(half, 1e-15), DoubleNear(half, 1e-15), 1e-300, 0));
  EXPECT_THAT(ClipArms(arms, 2, 1.0, true),
              StatusIs(absl::StatusCode::kInvalidArgument, "row 0 is longer than 1"));
  EXPECT_THAT(ClipArms(std::vector<double>{0.6, 0.8}, 2, 1.0, true), IsOk());
}

TEST(FeaturesTest, RowsThatAreNotFiniteAreZeros) {
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(ZerosForNonFinite(std::vector<double>{1, 2, nan, 3, 4, -inf, 5, 1e308}, 2),
              ElementsAre(1, 2, 0, 0, 0, 0, 5, 1e308));
  // A shape that does not fit is somebody else's error.
  EXPECT_EQ(ZerosForNonFinite(std::vector<double>{1, 2, 3}, 2), (std::vector<double>{1, 2, 3}));
}

TEST(FeaturesTest, CutsOutTheShownArm) {
  ReportRow row;
  row.features = PackFeatures(std::vector<double>{1, 2, 3, 4, 5, 6});
  ShowArm(1, 3, 2, row);
  EXPECT_EQ(row.opening.shown, 0);  // its token will be for this arm alone
  EXPECT_EQ(row.features, PackFeatures(std::vector<double>{3, 4}));
  ReportRow with_token;
  with_token.token = "token";
  ShowArm(1, 3, 2, with_token);
  EXPECT_EQ(with_token.opening.shown, 1);
  ReportRow of_counter;
  of_counter.token = "token";
  of_counter.features = PackFeatures(std::vector<double>{1, 2, 3, 4});
  ShowArm(1, 2, 2, of_counter);
  EXPECT_EQ(of_counter.opening.shown, 1);
  EXPECT_EQ(of_counter.features, PackFeatures(std::vector<double>{3, 4}));
}

TEST(FeaturesTest, ArmsArePackedWithTheirIds) {
  // One feature: two arms with ids take as many bytes as three without.
  const std::vector<std::uint32_t> ids = {7, Arms::kNoId};
  std::string packed = PackFeatures(std::vector<double>{1, 2});
  AppendArmIds(ids, packed);
  EXPECT_TRUE(ArePackedArms(packed, 2, 1));
  EXPECT_TRUE(ArePackedArms(packed, 3, 1));
  EXPECT_FALSE(ArePackedArms(packed, 1, 1));
  ReportRow row;
  row.features = packed;
  ShowArm(1, 2, 1, row);
  EXPECT_EQ(row.features, PackedArm(packed, 1, 2, 1));
  v1::InlineArms arms;
  ASSERT_TRUE(arms.ParseFromString(InlineArmBytes(PackedArm(packed, 0, 2, 1))));
  EXPECT_THAT(arms.features(), ElementsAre(1));
  EXPECT_THAT(arms.ids(), ElementsAre(7u));
  v1::InlineArms without;
  ASSERT_TRUE(without.ParseFromString(InlineArmBytes(PackFeatures(std::vector<double>{3, 4}))));
  EXPECT_THAT(without.features(), ElementsAre(3, 4));
  EXPECT_THAT(without.ids(), ElementsAre());
}

TEST(WindowTimesTest, LeavesAfterTheGuardAtATimeOfItsOwn) {
  const absl::Time decided = absl::FromUnixSeconds(100);
  const WindowTimes first = ScheduleWindow(decided, absl::Seconds(8), 0);
  EXPECT_EQ(first.close, decided + absl::Seconds(8));
  EXPECT_EQ(first.leave, first.close + kWindowGuard);
  const WindowTimes last = ScheduleWindow(decided, absl::Seconds(8), kAllOnes);
  EXPECT_LE(last.leave, last.close + kWindowGuard + absl::Seconds(1));
  EXPECT_GT(last.leave, last.close + kWindowGuard + absl::Seconds(0.999));
  const WindowTimes week = ScheduleWindow(decided, absl::Hours(168), kAllOnes);
  EXPECT_LE(week.leave, week.close + kWindowGuard + absl::Seconds(60));
}

TEST(EntranceTest, TellsAfterItIsLeftAndOthersMayWaitForThat) {
  Entrance entrance;
  std::vector<int> order;
  entrance.Enter([&] {
    entrance.Tell([&] { order.push_back(3); });
    entrance.Enter([&] { entrance.Tell([&] { order.push_back(4); }); });
    entrance.Call([&] { order.push_back(2); });  // before anything is told
    order.push_back(1);
  });
  EXPECT_THAT(order, ElementsAre(1, 2, 3, 4));
  // Another thread is still telling: who waits comes after it.
  Once<bool> telling;
  Once<bool> go_on;
  std::atomic<bool> told = false;
  std::thread other([&] {
    entrance.Enter([&] {
      entrance.Tell([&] {
        telling.Set(true);
        go_on.Get();
        told = true;
      });
    });
  });
  telling.Get();
  entrance.WaitUntilTold(std::chrono::milliseconds(1));  // gives up
  EXPECT_FALSE(told);
  go_on.Set(true);
  entrance.WaitUntilTold(std::chrono::minutes(1));
  EXPECT_TRUE(told);
  other.join();
}

TEST(SchedulerTest, RunsInOrderOfTimeAndTheRestAtStop) {
  ThreadScheduler scheduler;
  std::vector<int> order;
  std::mutex mutex;
  Once<bool> second;
  const auto note = [&](int i) {
    const std::lock_guard lock(mutex);
    order.push_back(i);
  };
  scheduler.RunAfter(absl::Milliseconds(20), [&] {
    note(2);
    second.Set(true);
  });
  scheduler.RunAfter(absl::Hours(1), [&] { note(3); });
  scheduler.RunAfter(-absl::Seconds(1), [&] { note(1); });
  second.Get();
  scheduler.Stop();
  EXPECT_THAT(order, ElementsAre(1, 2, 3));
  EXPECT_FALSE(scheduler.RunAfter(absl::ZeroDuration(), [&] { note(4); }));
  EXPECT_EQ(order.size(), 3);
}

PosteriorResponse Read(const v1::GetPosteriorResponse& response) {
  return *ReadPosteriorResponse(response.SerializeAsString());
}
SelectResponse Read(const v1::SelectResponse& response) {
  return *ReadSelectResponse(response.SerializeAsString());
}

v1::GetPosteriorResponse SomePosterior() {
  v1::GetPosteriorResponse response;
  response.set_version(5);
  for (const double mean : {0.5, -1.0}) response.add_means(mean);
  for (const double entry : {4.0, 1.0, 9.0}) response.add_covariances(entry);
  response.add_alphas(2.0);
  return response;
}

TEST(PosteriorsTest, RanksByMeanPlusAlphaWidth) {
  const auto posterior = ParsePosterior(Read(SomePosterior()), 2);
  ASSERT_THAT(posterior, IsOk());
  EXPECT_THAT(posterior->node.covariance, ElementsAre(4, 1, 1, 9));
  // (1,0): 0.5 + 2 * 2 = 4.5; (0,1): -1 + 2 * 3 = 5; (0,0): 0; (1,1): -0.5 + 2 sqrt(15) = 7.246.
  const std::vector<double> arms = {1, 0, 0, 1, 0, 0, 1, 1};
  const Ranking ranking = RankOnDevice(*posterior, Link::kLinear, {.features = arms}, 3, 1);
  ASSERT_EQ(ranking.arms.size(), 3);
  EXPECT_EQ(ranking.arms[0].position, 3);
  EXPECT_NEAR(ranking.arms[0].score, -0.5 + 2 * std::sqrt(15.0), 1e-12);
  EXPECT_EQ(ranking.arms[1].position, 1);
  EXPECT_EQ(ranking.arms[2].position, 0);
  EXPECT_EQ(ranking.arms[0].propensity, 1);
  EXPECT_EQ(ranking.arms[1].propensity, 0);
  // Equal scores share it, also those that are not ranked.
  const std::vector<double> equal = {0, 1, 0, 1, 0, 0, 0, 1};
  const Ranking tied = RankOnDevice(*posterior, Link::kLinear, {.features = equal}, 2, 1);
  EXPECT_DOUBLE_EQ(tied.arms[0].propensity, 1.0 / 3);
  EXPECT_DOUBLE_EQ(tied.arms[1].propensity, 1.0 / 3);
  EXPECT_EQ(ranking.posterior_version, 5);
  EXPECT_EQ(ranking.features, PackFeatures(std::vector<double>{1, 1, 0, 1, 1, 0}));
  EXPECT_TRUE(ranking.token.empty());
}

TEST(PosteriorsTest, AddsWhatEveryArmHasAndWhatEachHas) {
  auto response = SomePosterior();
  response.set_constant_mean(0.25);
  response.set_constant_variance(3);
  const auto posterior = ParsePosterior(Read(response), 2);
  ASSERT_THAT(posterior, IsOk());
  const std::vector<double> arms = {1, 0, 1, 0};
  const std::vector<ArmShare> shares = {{}, {.mean = 0.5, .variance = 9}};
  const Ranking ranking = RankOnDevice(*posterior, Link::kLinear, {arms, shares}, 2, 1);
  ASSERT_EQ(ranking.arms.size(), 2);
  EXPECT_EQ(ranking.arms[0].position, 1);
  EXPECT_NEAR(ranking.arms[0].mean, 0.5 + 0.25 + 0.5, 1e-12);
  EXPECT_NEAR(ranking.arms[0].width, std::sqrt(4.0 + 3 + 9), 1e-12);
  EXPECT_NEAR(ranking.arms[0].score, 1.25 + 2 * 4, 1e-12);
  EXPECT_NEAR(ranking.arms[1].score, 0.75 + 2 * std::sqrt(7.0), 1e-12);
}

// That posterior, read as one of theta / 4: the arms' logits are 4 times their means.
TEST(PosteriorsTest, LogisticRanksAlikeInRewardUnitsAndStraightensItsFeatures) {
  const auto posterior = ParsePosterior(Read(SomePosterior()), 2);
  const std::vector<double> arms = {1, 0, 0, 1, 0, 0, 1, 1};
  const Ranking ranking = RankOnDevice(*posterior, Link::kLogistic, {.features = arms}, 4, 1);
  const Ranking linear = RankOnDevice(*posterior, Link::kLinear, {.features = arms}, 4, 1);
  ASSERT_EQ(ranking.arms.size(), 4);
  const auto mu = [](double z) { return 1 / (1 + std::exp(-z)); };
  std::string features;
  for (int i = 0; i < 4; ++i) {
    const RankedArm& arm = ranking.arms[i];
    EXPECT_EQ(arm.position, linear.arms[i].position);
    EXPECT_EQ(arm.propensity, linear.arms[i].propensity);
    const double z = 4 * linear.arms[i].mean;
    EXPECT_NEAR(arm.mean, mu(z), 1e-12);
    EXPECT_NEAR(arm.score, mu(4 * linear.arms[i].score), 1e-12);
    // The derivative of mu(z), by a difference, times the width of z.
    const double slope = (mu(z + 1e-5) - mu(z - 1e-5)) / 2e-5;
    EXPECT_NEAR(arm.width, slope * 4 * linear.arms[i].width, 1e-8);
    const std::vector<double> x(&arms[2 * arm.position], &arms[2 * arm.position] + 2);
    features += PackFeatures(Straighten(Link::kLogistic, x, 0, z).features);
  }
  EXPECT_EQ(ranking.features, features);
}

// Posteriors without any sense, from a hostile server.
TEST(PosteriorsTest, SaturatedEstimatesShrinkFeaturesAndStayFinite) {
  const std::vector<double> arms = {0.6, 0.8, 0.8, -0.6};
  for (const double huge : {1e6, 1e300, -1e300, 1.7e308}) {
    auto response = SomePosterior();
    response.set_means(0, huge);
    response.set_means(1, huge);
    const Ranking ranking =
        RankOnDevice(*ParsePosterior(Read(response), 2), Link::kLogistic, {.features = arms}, 2, 1);
    for (int i = 0; i < 2; ++i) {
      EXPECT_GE(ranking.arms[i].mean, 0);
      EXPECT_LE(ranking.arms[i].mean, 1);
      for (const double x : FeaturesOfRank(ranking.features, i, 2)) EXPECT_LE(std::abs(x), 1e-5);
    }
  }
}

TEST(PosteriorsTest, RefusesWhatDoesNotFit) {
  const auto internal = absl::StatusCode::kInternal;
  EXPECT_THAT(ParsePosterior(Read(SomePosterior()), 3), StatusIs(internal, "dimension 3"));
  auto nan = SomePosterior();
  nan.set_covariances(1, std::nan(""));
  EXPECT_THAT(ParsePosterior(Read(nan), 2), StatusIs(internal, "not finite"));
  auto two = SomePosterior();
  two.add_alphas(1);
  EXPECT_THAT(ParsePosterior(Read(two), 2), StatusIs(internal));
  auto constant = SomePosterior();
  constant.set_constant_mean(std::nan(""));
  EXPECT_THAT(ParsePosterior(Read(constant), 2), StatusIs(internal, "not finite"));
  constant.set_constant_mean(0);
  constant.set_constant_variance(-1e-9);
  EXPECT_THAT(ParsePosterior(Read(constant), 2), StatusIs(internal, "below 0"));
}

TEST(PosteriorsTest, CacheKeepsTheNewestOfTheLastUsers) {
  PosteriorCache cache;
  EXPECT_EQ(cache.Find("u"), nullptr);
  cache.Put("u", {.version = 2});
  cache.Put("u", {.version = 1});
  EXPECT_EQ(cache.Find("u")->version, 2);
  for (int i = 0; i < PosteriorCache::kUsersMax - 1; ++i) cache.Put(std::to_string(i), {});
  EXPECT_NE(cache.Find("u"), nullptr);
  cache.Put("one more", {});
  EXPECT_NE(cache.Find("u"), nullptr);
  EXPECT_EQ(cache.Find("0"), nullptr);
}

// Under an alias.
TEST(PosteriorsTest, VersionsOfTwoModelsHaveNoOrder) {
  constexpr std::uint64_t kOther = std::uint64_t{5} << kOwnNumberBits;
  PosteriorCache cache;
  cache.Put("u", {.version = kOther + 7});
  cache.Put("u", {.version = kOther + 6});
  EXPECT_EQ(cache.Find("u")->version, kOther + 7);
  cache.Put("u", {.version = 3});
  EXPECT_EQ(cache.Find("u")->version, 3);
}

TEST(SelectorTest, InlineArmsMayHaveIds) {
  const std::vector<double> arms = {1, 0, 0, 1};
  const std::vector<std::uint32_t> ids = {7, 9};
  const auto request = MakeSelectRequest("m", 2, "u", Arms::Inline(arms, ids), 1);
  ASSERT_THAT(request, IsOk());
  v1::SelectRequest sent;
  ASSERT_TRUE(sent.ParseFromString(request->Under("hash")));
  EXPECT_EQ(sent.policy_hash(), "hash");
  EXPECT_EQ(sent.arms().inline_arms().features_size(), 4);
  ASSERT_EQ(sent.arms().inline_arms().ids_size(), 2);
  EXPECT_EQ(sent.arms().inline_arms().ids(1), 9u);
  ASSERT_TRUE(
      sent.ParseFromString(MakeSelectRequest("m", 2, "u", Arms::Inline(arms), 1)->Under("hash")));
  EXPECT_EQ(sent.arms().inline_arms().ids_size(), 0);
  EXPECT_THAT(MakeSelectRequest("m", 2, "u", Arms::Inline(arms, std::span(ids).first(1)), 1),
              StatusIs(absl::StatusCode::kInvalidArgument, "one id per arm, got 1 for 2 arms"));
}

// Every form of arms, with and without a context, against protobuf's own bytes.
TEST(SelectorTest, RequestsAreProtobufsBytes) {
  const std::vector<std::uint32_t> ids = {7, 0};
  const std::vector<std::string> names = {"a", "b"};
  ArmQuery query;
  query.tags_any = {"x"};
  query.tags_all = {"y", ""};
  query.tags_none = {"z"};
  query.excluded_ids = {3};
  query.excluded_names = {"n"};
  Features one;  // a map of protobuf has no order: one entry each
  one.Numbers("v", {0, 2.5});
  const std::vector<NamedArm> named = {{"a", Features().Flag("f", false)},
                                       {"b", Features().Texts("t", {"", "u"})},
                                       {"c", Features().Number("n", 0)},
                                       {"d", Features().Text("s", "text")},
                                       {"e", {}}};
  const std::vector<double> features = {1, 0, 0, 1};
  const Arms forms[] = {
      Arms::Inline(features), Arms::Catalogue(ids),      Arms::CatalogueNames(names),
      Arms::Query(names),     Arms::Query({}),           Arms::Matching(query),
      Arms::Named(named),     Arms::Named(named).In(one)};
  for (const Arms& arms : forms) {
    const auto request = MakeSelectRequest("m", 2, "user", arms, Ranks(3, 1));
    ASSERT_THAT(request, IsOk());
    v1::SelectRequest sent;
    ASSERT_TRUE(sent.ParseFromString(request->Under("hash")));
    EXPECT_EQ(sent.SerializeAsString(), request->Under("hash"));
    EXPECT_EQ(sent.top_k(), 3);
    EXPECT_EQ(sent.shown(), 1);
    EXPECT_TRUE(sent.has_arms());
    const auto slots = MakeSlotsRequest("m", 2, "user", arms, 2);
    ASSERT_THAT(slots, IsOk());
    ASSERT_TRUE(sent.ParseFromString(slots->Under("hash")));
    EXPECT_EQ(sent.SerializeAsString(), slots->Under("hash"));
    EXPECT_EQ(sent.slots(), 2);
  }
  v1::SelectRequest sent;
  ASSERT_TRUE(sent.ParseFromString(
      MakeSelectRequest("m", 2, "user", Arms::Matching(query), 1)->Under("hash")));
  const v1::CatalogueQuery& asked = sent.arms().catalogue_query();
  EXPECT_THAT(asked.tags_any(), ElementsAre("x"));
  EXPECT_THAT(asked.tags_all(), ElementsAre("y", ""));
  EXPECT_THAT(asked.tags_none(), ElementsAre("z"));
  EXPECT_THAT(asked.excluded_ids(), ElementsAre(3u));
  EXPECT_THAT(asked.excluded_names(), ElementsAre("n"));
  ASSERT_TRUE(sent.ParseFromString(
      MakeSelectRequest("m", 2, "user", Arms::Named(named).In(one), 1)->Under("hash")));
  EXPECT_EQ(sent.arms().named_arms().arms_size(), 5);
  const auto& flag = sent.arms().named_arms().arms(0).features().fields().at("f");
  EXPECT_TRUE(flag.has_bool_value());
  const auto& number = sent.arms().named_arms().arms(2).features().fields().at("n");
  EXPECT_TRUE(number.has_number_value());
  EXPECT_EQ(sent.context().fields().at("v").list_value().values(1).number_value(), 2.5);
}

TEST(SelectorTest, PagesOfEffectsAreKeptAsOne) {
  v1::GetArmEffectsResponse first;
  first.set_version(3);
  first.add_ids(1);
  first.add_means(0.5F);
  first.add_variances(0.25F);
  first.set_next_arm(2);
  v1::GetArmEffectsResponse second = first;
  second.set_version(4);
  second.set_ids(0, 2);
  second.clear_next_arm();
  const auto joined = ReadArmEffectsPage(
      JoinArmEffectsPages(first.SerializeAsString() + second.SerializeAsString(), 3));
  ASSERT_THAT(joined, IsOk());
  EXPECT_EQ(joined->version, 3);
  EXPECT_EQ(joined->next_arm, 0);
  EXPECT_THAT(joined->ids, ElementsAre(1u, 2u));
  EXPECT_THAT(joined->means, ElementsAre(0.5F, 0.5F));
}

TEST(SelectorTest, AnswersThatDoNotFitTheRequestAreInternal) {
  const std::vector<double> arms = {1, 0, 0, 1};
  const auto request = MakeSelectRequest("m", 2, "u", Arms::Inline(arms), 2);
  ASSERT_THAT(request, IsOk());
  const auto good = [] {
    v1::SelectResponse response;
    for (const int position : {1, 0}) {
      response.add_positions(position);
      response.add_scores(1);
      response.add_means(1);
      response.add_widths(1);
      response.add_propensities(1);
    }
    response.set_token("t");
    return response;
  };
  auto response = good();
  EXPECT_THAT(ParseSelectResponse(*request, 2, std::nullopt, Read(response)), IsOk());
  const std::function<void(v1::SelectResponse&)> spoil[] = {
      [](auto& r) { r.clear_token(); },        [](auto& r) { r.set_positions(0, 2); },
      [](auto& r) { r.add_arm_ids(1); },       [](auto& r) { r.add_scores(1); },
      [](auto& r) { r.clear_widths(); },       [](auto& r) { r.Clear(); },
      [](auto& r) { r.clear_propensities(); }, [](auto& r) { r.clear_means(); }};
  for (const auto& change : spoil) {
    auto spoilt = good();
    change(spoilt);
    EXPECT_THAT(ParseSelectResponse(*request, 2, std::nullopt, Read(spoilt)),
                StatusIs(absl::StatusCode::kInternal));
  }
}

TEST(SelectorTest, APointWhereArmsWereAskedForIsInternal) {
  const std::vector<double> arms = {1, 0, 0, 1};
  const auto ranked = MakeSelectRequest("m", 2, "u", Arms::Inline(arms), 1);
  const auto point = MakePointRequest("m", "u");
  v1::SelectResponse answer;
  answer.add_point(0.5);
  answer.add_point(0.25);
  answer.set_token("t");
  v1::SelectResponse same = answer;
  EXPECT_THAT(ParseSelectResponse(*ranked, 2, std::nullopt, Read(same)),
              StatusIs(absl::StatusCode::kInternal));
  same = answer;
  same.add_positions(0);
  EXPECT_THAT(ParseSelectResponse(*point, 2, std::nullopt, Read(same)),
              StatusIs(absl::StatusCode::kInternal));
  same = answer;
  same.clear_token();
  EXPECT_THAT(ParseSelectResponse(*point, 2, std::nullopt, Read(same)),
              StatusIs(absl::StatusCode::kInternal));
  const auto ranking = ParseSelectResponse(*point, 2, std::nullopt, Read(answer));
  ASSERT_THAT(ranking, IsOk());
  EXPECT_EQ(ranking->point, (std::vector<double>{0.5, 0.25}));
  EXPECT_EQ(ranking->token, "t");
}

}  // namespace
}  // namespace bandana::device
