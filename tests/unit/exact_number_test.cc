// Decimal numbers read without a C library, against the one of this machine.
#include "common/base/exact_number.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>

namespace bandana {
namespace {

std::string Printed(double value, const char* format) {
  char text[400];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

// The bits, so that the signs of zeros count.
std::uint64_t BitsOf(double value) { return std::bit_cast<std::uint64_t>(value); }

bool ReadsAsStrtod(const std::string& text) {
  const auto read = ReadExactNumber(text);
  return read.has_value() && BitsOf(*read) == BitsOf(std::strtod(text.c_str(), nullptr));
}

TEST(ExactNumberTest, AMillionDoublesReadBack) {
  std::mt19937_64 random(20261126);
  int read = 0;
  while (read < 1'000'000) {
    const double value = std::bit_cast<double>(random());
    if (!std::isfinite(value)) continue;
    const std::string text = Printed(value, "%.17g");
    const auto back = ReadExactNumber(text);
    ASSERT_TRUE(back.has_value() && BitsOf(*back) == BitsOf(value)) << text;
    ++read;
  }
}

TEST(ExactNumberTest, SubnormalsReadBack) {
  std::mt19937_64 random(20261127);
  for (int i = 0; i < 100'000; ++i) {
    const double value = std::bit_cast<double>(random() >> (12 + random() % 52));
    const auto back = ReadExactNumber(Printed(value, "%.17g"));
    ASSERT_TRUE(back.has_value() && BitsOf(*back) == BitsOf(value)) << value;
  }
}

// Integers of 54 to 56 bits lie between two doubles, every other one, fourth or eighth in the
// middle of them.
TEST(ExactNumberTest, TiesGoToEven) {
  std::mt19937_64 random(20261128);
  EXPECT_EQ(ReadExactNumber("9007199254740993"), 9007199254740992.0);
  EXPECT_EQ(ReadExactNumber("9007199254740995"), 9007199254740996.0);
  for (int i = 0; i < 100'000; ++i) {
    const int bits = 54 + static_cast<int>(random() % 3);
    const std::uint64_t whole = (std::uint64_t{1} << (bits - 1)) | random() >> (64 - bits + 1);
    std::string text = std::to_string(whole);
    ASSERT_TRUE(ReadsAsStrtod(text)) << text;
    // The next decimals on both sides are no ties.
    if (text.size() >= 17) continue;
    ASSERT_TRUE(ReadsAsStrtod(text + ".1")) << text;
    text = std::to_string(whole - 1) + ".9";
    ASSERT_TRUE(ReadsAsStrtod(text)) << text;
  }
}

TEST(ExactNumberTest, DecimalsOfAnyLengthAreRoundedAsStrtodRoundsThem) {
  std::mt19937_64 random(20261129);
  for (int i = 0; i < 300'000; ++i) {
    std::string text = random() % 2 == 0 ? "-" : "";
    const int digits = 1 + static_cast<int>(random() % 17);
    const auto point = static_cast<int>(random() % 18);
    text += static_cast<char>('1' + random() % 9);
    for (int k = 1; k < digits; ++k) {
      if (k == point) text += '.';
      text += static_cast<char>('0' + random() % 10);
    }
    const int exponent = static_cast<int>(random() % 620) - 330;
    text += exponent < 0 ? "e-" : "e+";
    text += std::to_string(std::abs(exponent));
    const double expected = std::strtod(text.c_str(), nullptr);
    if (std::isfinite(expected)) {
      ASSERT_TRUE(ReadsAsStrtod(text)) << text;
    } else {
      ASSERT_FALSE(ReadExactNumber(text).has_value()) << text;
    }
  }
}

TEST(ExactNumberTest, EndsOfTheRange) {
  for (const char* text :
       {"0", "-0", "0.0", "1.7976931348623157e+308", "-1.7976931348623157e+308",
        "4.9406564584124654e-324", "2.4703282292062328e-324", "2.4703282292062327e-324",
        "2.2250738585072014e-308", "2.2250738585072011e-308", "1e-999", "99999999999999999e-342",
        "0.1", "0.10000000000000001", "1.0000076293945312",
        "0.00000000000000000000000000012345678901234567"}) {
    EXPECT_TRUE(ReadsAsStrtod(text)) << text;
  }
  for (const char* text :
       {"1.7976931348623159e+308", "1e+309", "2e+308", "99999999999999999e+292", "1e+999"}) {
    EXPECT_FALSE(ReadExactNumber(text).has_value()) << text;
  }
  // A fraction that is longer than any exponent.
  EXPECT_EQ(ReadExactNumber("0." + std::string(20'000, '0') + "1e+999"), 0.0);
}

TEST(ExactNumberTest, OtherTextsAreNone) {
  for (const char* text : {"",
                           "-",
                           ".",
                           ".5",
                           "5.",
                           "-.5",
                           "+1",
                           "1e5",
                           "1e+",
                           "1e-",
                           "1e+1000",
                           "1E+05",
                           "01",
                           "00",
                           "-01",
                           "1.5.2",
                           "1,5",
                           " 1",
                           "1 ",
                           "1\n",
                           "inf",
                           "-inf",
                           "nan",
                           "infinity",
                           "0x1p3",
                           "1e+5x",
                           "123456789012345678",
                           "1.23456789012345678",
                           "1e+0x",
                           "--1",
                           "1-"}) {
    EXPECT_FALSE(ReadExactNumber(text).has_value()) << text;
  }
  EXPECT_FALSE(ReadExactNumber(std::string_view("1\0", 2)).has_value());
}

TEST(WholeNumberTest, ReadsUpToItsBound) {
  constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(ReadWholeNumber("0", 0), 0u);
  EXPECT_EQ(ReadWholeNumber("18446744073709551615", kMax), kMax);
  EXPECT_FALSE(ReadWholeNumber("18446744073709551616", kMax).has_value());
  EXPECT_FALSE(ReadWholeNumber("99999999999999999999999", kMax).has_value());
  EXPECT_EQ(ReadWholeNumber("10", 10), 10u);
  for (const char* text : {"11", "20", "100"}) {
    EXPECT_FALSE(ReadWholeNumber(text, 10).has_value()) << text;
  }
  for (const char* text : {"", "-1", "+1", "01", "1.0", "1 ", " 1", "0x1", "1e0"}) {
    EXPECT_FALSE(ReadWholeNumber(text, kMax).has_value()) << text;
  }
  EXPECT_FALSE(ReadWholeNumber("1", 0).has_value());
}

}  // namespace
}  // namespace bandana
