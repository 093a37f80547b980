// Numbers of a text from outside, read without locale, libm or a library's strtod: the same bits on
// every host, also where there is no C library to speak of.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace bandana {

// The double that is nearest to the decimal number, ties to even, as IEEE 754 has it: "0", "-2.5",
// "9.9999999999999995e-07". All that %.17g prints of a finite double reads back to it.
//
// A number is [-] digits [. digits] [e (+|-) digits], its first digit 0 only where it is alone
// before the point; at most 17 digits after the leading zeros, and at most 3 of the exponent.
// Nothing: another text, or a number that is no finite double.
std::optional<double> ReadExactNumber(std::string_view text);

// A whole number in [0, max], decimal digits without a leading zero. Nothing: another text.
std::optional<std::uint64_t> ReadWholeNumber(std::string_view text, std::uint64_t max);

}  // namespace bandana
