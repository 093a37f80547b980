// Reports as the device codes them by hand against protobuf's own bytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "bandana/v1/recommender.pb.h"
#include "client/core/report_bytes.h"
#include "common/base/wire_writer.h"

namespace bandana::device {
namespace {

constexpr int kRuns = 20'000;

class ReportBytesTest : public ::testing::Test {
 protected:
  // Short and long lengths, and those around the ends of a varint.
  std::string Token() {
    const std::size_t sizes[] = {0, 1, 127, 128, 200, 16'383, 16'384};
    std::string token(random_() % 3 == 0 ? random_() % 300 : sizes[random_() % 7], '\0');
    for (char& byte : token) byte = static_cast<char>(random_());
    return token;
  }
  int Shown() { return static_cast<int>(random_() % 2 == 0 ? random_() % 4 : random_() % 1000); }
  // Any bits: infinities, NaN, -0 and subnormal numbers as well.
  double Real() {
    const std::uint64_t bits = random_() % 4 == 0 ? std::uint64_t{1} << 63 : random_();
    double real = 0;
    std::memcpy(&real, &bits, sizeof real);
    return random_() % 5 == 0 ? 0 : real;
  }

  std::mt19937_64 random_{5};
};

TEST_F(ReportBytesTest, OutcomesAreThoseOfProtobuf) {
  for (int run = 0; run < kRuns; ++run) {
    const std::string token = Token();
    const int shown = Shown();
    const std::optional<double> reward = random_() % 4 == 0 ? std::nullopt : std::optional(Real());
    v1::Outcome outcome;
    outcome.set_token(token);
    outcome.set_shown(shown);
    if (reward) outcome.set_reward(*reward);
    const std::string bytes = OutcomeBytes(token, shown, reward);
    ASSERT_EQ(bytes, outcome.SerializeAsString());
    const std::string other = Token();
    outcome.set_token(other);
    ASSERT_EQ(ReplaceToken(bytes, other), outcome.SerializeAsString());
  }
}

TEST_F(ReportBytesTest, CounterReportsAreThoseOfProtobuf) {
  for (int run = 0; run < kRuns / 10; ++run) {
    const std::string token = Token();
    const int shown = Shown();
    std::vector<double> moment(random_() % 40);
    for (double& value : moment) value = Real();
    v1::CounterReport report;
    report.mutable_moment()->Assign(moment.begin(), moment.end());
    v1::CounterStep& step = *report.add_steps();
    step.set_token(token);
    step.set_shown(shown);
    ASSERT_EQ(CounterReportBytes(moment, token, shown), report.SerializeAsString());
  }
}

// The fields of perturbed and context reports, whose outputs only a draw can make.
TEST_F(ReportBytesTest, FieldsAreThoseOfProtobuf) {
  for (int run = 0; run < kRuns; ++run) {
    v1::PerturbedReport perturbed;
    perturbed.set_token(Token());
    perturbed.set_shown(Shown());
    perturbed.set_output(static_cast<std::uint32_t>(random_() >> (random_() % 64)));
    perturbed.set_whole_range(random_() % 2 == 0);
    std::string bytes;
    WireWriter writer(bytes);
    writer.Bytes(1, perturbed.token());
    writer.Number(2, perturbed.shown());
    writer.Number(3, perturbed.output());
    writer.Number(4, perturbed.whole_range() ? 1 : 0);
    ASSERT_EQ(bytes, perturbed.SerializeAsString());
    const std::string other = Token();
    perturbed.set_token(other);
    ASSERT_EQ(ReplaceToken(bytes, other), perturbed.SerializeAsString());

    v1::ContextReport context;
    context.set_report_id(std::string(16, static_cast<char>(random_())));
    context.set_epoch(random_() >> (random_() % 64));
    context.set_seed(Token());
    for (int i = static_cast<int>(random_() % 20); i > 0; --i) {
      const auto value = static_cast<std::int64_t>(random_());
      context.add_values(random_() % 7 == 0 ? std::numeric_limits<std::int64_t>::min()
                                            : value >> (random_() % 64));
    }
    std::string fields;
    WireWriter of_context(fields);
    of_context.Bytes(1, context.report_id());
    of_context.Number(2, context.epoch());
    of_context.Bytes(3, context.seed());
    of_context.PackedIntegers(
        4, std::vector<std::int64_t>(context.values().begin(), context.values().end()));
    ASSERT_EQ(fields, context.SerializeAsString());
  }
}

TEST_F(ReportBytesTest, ATokenOfDamagedBytesIsReplacedWithoutReadingBeyondThem) {
  for (int run = 0; run < kRuns; ++run) {
    std::string bytes(random_() % 16, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random_());
    if (!bytes.empty()) bytes[0] = 0x0a;
    const std::string replaced = ReplaceToken(bytes, "t");
    ASSERT_LE(replaced.size(), bytes.size() + 3);
    ASSERT_EQ(replaced.substr(0, 3), std::string("\x0a\x01t"));
  }
}

}  // namespace
}  // namespace bandana::device
