// The server's ledger with several streams of joint privacy, and with debits that a former version
// wrote (docs/privacy/accounting.md).
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <variant>

#include "common/accounting/gaussian.h"
#include "common/accounting/zcdp.h"
#include "common/model/entries/records.h"
#include "common/model/paths/make_path.h"
#include "common/model/state/ledger.h"
#include "tests/support/model_harness.h"
#include "tests/support/privacy_curves.h"
#include "tests/support/status_matchers.h"

namespace bandana::testing {
namespace {

constexpr double kDelta = 1e-5;

// Kind BLT, d = 10, cap 2^30.
DebitRecord CostOfAStream() {
  const ModelSpec spec = testing::SpecOf(
      "name: 'm' dimension: 10 mode: JOINT shared {} refresh_interval {} "
      "privacy { epsilon: 1 delta: 1e-5 mechanism: COUNTER counter { kind: BLT } } "
      "reporting { one_per_decision: true }");
  std::array<std::byte, 32> key{};
  const auto path = MakePath(spec, {}, std::make_shared<const NoiseKey>(*NoiseKey::FromBytes(key)));
  EXPECT_THAT(path, IsOk());
  return (*path)->debits()->cost();
}

// The readings of a ledger after a log has brought it the debit in each of two epochs.
v1::LedgerReadings AfterTwoEpochs(DebitRecord debit) {
  Ledger ledger;
  for (const std::uint64_t epoch : {1, 2}) {
    debit.epoch = epoch;
    const auto stored = Decode(Encode(debit), 10);
    EXPECT_THAT(stored, IsOk());
    EXPECT_THAT(ledger.Add(epoch, std::get<DebitRecord>(*stored)), IsOk());
  }
  // And through a checkpoint.
  std::string bytes;
  ByteWriter out(bytes);
  ledger.Encode(out);
  ByteReader in(bytes);
  Ledger restored;
  EXPECT_THAT(restored.Decode(in), IsOk());
  EXPECT_EQ(restored.largest(), ledger.largest());
  v1::GetLedgerResponse response;
  restored.Fill(kDelta, "", response);
  return response.user();
}

TEST(LedgerReadingsTest, TwoEpochsOfAJointCounterReadASoundEpsilon) {
  const DebitRecord debit = CostOfAStream();
  ASSERT_GT(debit.mu, 0);
  const v1::LedgerReadings readings = AfterTwoEpochs(debit);
  ASSERT_TRUE(readings.has_epsilon_gaussian());
  const double epsilon = readings.epsilon_gaussian();
  const auto delta_at = [&](double at) {
    return testing::GaussianDelta({std::sqrt(2) * debit.mu}, {at}) +
           (1 + std::exp(at)) * 2 * debit.variation;
  };
  EXPECT_LE(delta_at(epsilon), kDelta * (1 + 1e-9));
  EXPECT_GT(delta_at(epsilon * (1 - 1e-6)), kDelta);
  EXPECT_FALSE(readings.has_epsilon_pure());
  // A discrete Gaussian is zero-concentrated as it is: all of delta is the conversion's.
  EXPECT_NEAR(readings.epsilon_zcdp(), ZcdpEpsilon({debit.mu * debit.mu}, {kDelta})->value, 1e-6);
}

// Its last number was (1 + e^epsilon) times the sum of all values' distances.
TEST(LedgerReadingsTest, AFormerDebitNeverReadsLess) {
  const DebitRecord now = CostOfAStream();
  DebitRecord former = now;
  former.variation = DiscreteGaussianSlack({1}, 65L << 30, 0x1p25)->value;
  EXPECT_GT(former.variation, 2 * now.variation);
  const v1::LedgerReadings readings = AfterTwoEpochs(former);
  EXPECT_FALSE(readings.has_epsilon_gaussian()) << "as a distance it leaves no epsilon at 1e-5";
  EXPECT_EQ(readings.epsilon_zcdp(), AfterTwoEpochs(now).epsilon_zcdp());
  // It leaves the entry of a short stream, and a larger one.
  former.variation = DiscreteGaussianSlack({1}, 65L << 12, 0x1p25)->value;
  EXPECT_GT(AfterTwoEpochs(former).epsilon_gaussian(), AfterTwoEpochs(now).epsilon_gaussian());
}

}  // namespace
}  // namespace bandana::testing
