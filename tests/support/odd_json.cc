#include "tests/support/odd_json.h"

#include <array>
#include <cstddef>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace bandana::testing {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

constexpr std::string_view kNumbers[] = {"0",
                                         "1",
                                         "-1",
                                         "2",
                                         "7",
                                         "-0",
                                         "-0.0",
                                         "0.0",
                                         "0e5",
                                         "1e2",
                                         "1E+2",
                                         "1.5",
                                         "2.0",
                                         "3e0",
                                         "1e-1",
                                         "100e-2",
                                         "4294967295",
                                         "4294967296",
                                         "2147483647",
                                         "2147483648",
                                         "-2147483648",
                                         "-2147483649",
                                         "4294967295.0",
                                         "4.294967296e9",
                                         "9007199254740993",
                                         "9223372036854775807",
                                         "9223372036854775808",
                                         "-9223372036854775808",
                                         "-9223372036854775809",
                                         "18446744073709551615",
                                         "18446744073709551616",
                                         "18446744073709551615.0",
                                         "1.8446744073709551e19",
                                         "9.3e18",
                                         "123456789012345678901234567890",
                                         "-123456789012345678901234567890",
                                         "1e308",
                                         "1.8e308",
                                         "1.7976931348623157e308",
                                         "1e400",
                                         "-1e400",
                                         "1e-400",
                                         "5e-324",
                                         "2.4e-324",
                                         "1e39",
                                         "3.4e38",
                                         "3.4028235e38",
                                         "3.4028236e38",
                                         "1e-50",
                                         "0.1",
                                         "0.30000000000000004",
                                         "1e22",
                                         "1e23",
                                         "00",
                                         "01",
                                         "-01",
                                         "+1",
                                         ".5",
                                         "1.",
                                         "1.e2",
                                         "1e",
                                         "1e+",
                                         "0x10",
                                         "--1",
                                         "-",
                                         "1_000",
                                         "1,",
                                         "NaN",
                                         "Infinity",
                                         "-Infinity",
                                         "nan",
                                         "1e1.5"};
constexpr std::string_view kWords[] = {
    "",
    "a",
    "NaN",
    "Infinity",
    "-Infinity",
    "inf",
    "nan",
    "+5",
    "-5",
    "5",
    "05",
    " 5",
    "5 ",
    "\\t5",
    "5\\n",
    "0x10",
    "1e2",
    "1e400",
    "-0",
    "+-5",
    "5.0",
    "5\\u0000",
    "\\u0000",
    "true",
    "TRUE",
    "t",
    "yes",
    "No",
    "0",
    "1",
    "JOINT",
    "joint",
    "2",
    "99",
    "NON_PRIVATE",
    "SHOWN",
    "AA==",
    "AA",
    "A",
    "AB",
    "AAA=",
    "AAE",
    "-_-_",
    "+/+/",
    "-/",
    " AA==",
    "A A=",
    "AA=",
    "AA===",
    "AAAA=",
    "AAAA====",
    "=",
    "==",
    "1s",
    "1.5s",
    "-1.5s",
    "0.000000001s",
    "0.0000000001s",
    "0.10000000000s",
    "0.00000000000s",
    "1.s",
    ".5s",
    "+1s",
    "-+1s",
    " 1s",
    "1 s",
    "1 .5s",
    "--1s",
    "-0.5s",
    "1e2s",
    "315576000000s",
    "315576000000.9s",
    "315576000001s",
    "1.2.3s",
    "s",
    "1",
    "1.-5s",
    "f(x)[0]",
    "nineteen or more letters",
    "1.+5s",
    "-s",
    "\\u00e9",
    "\\uD83D\\uDE00",
    "\\ud800",
    "\\udc00",
    "\\ud800x",
    "\\ud800\\u0041",
    "\\ud800\\ud800",
    "\\ud800\\ue000",
    "\\udc00\\ud800",
    "\\uD83D\\\\uDE00",
    "\\uffff",
    "\\u12g4",
    "\\u+123",
    "\\ud800\\u dc0",
    "\\x41",
    "\\/",
    "\\\"",
    "\\\\",
    "\\b\\f\\r",
    "caf\xC3\xA9",
    "\xF0\x9F\x98\x80",
    "\xFF",
    "\xC3",
    "\xED\xA0\x80",
    "\xC0\x80",
    "\xF4\x90\x80\x80",
    "\xEF\xBF\xBE",
    "\x01",
    "a\nb",
    "\x7F",
    "\xC2\x85",
    "\xE2\x80\xA8",
    "<script>&'",
    "a string that is longer than sixty-four bytes, so that vectors are used at last"};
constexpr std::string_view kTimes[] = {
    "2026-11-27T09:00:00Z",      "2026-11-27T09:00:00.5+01:30", "1969-12-31T23:59:59.999999999Z",
    "0001-01-01T00:00:00Z",      "0000-12-31T23:59:59Z",        "9999-12-31T23:59:59.1234567891Z",
    "2024-02-29T00:00:00-23:59", "2023-02-29T00:00:00Z",        "2026-11-27 09:00:00Z",
    "2026-11-27T24:00:00Z",      "2026-11-27T09:00:60Z",        "2026-11-27T09:00:00",
    "2026-11-27T09:00:00.Z",     "2026-11-27t09:00:00z",        "2026-1-27T09:00:00Z",
    "20261127T090000Z"};
constexpr std::string_view kMasks[] = {"alpha",
                                       "alpha,rewardMax",
                                       "reward_max,alpha",
                                       "a.bC.d",
                                       ",a,,b,",
                                       "HTTPServer,aB,ABc,A",
                                       "a_B,aB_",
                                       "",
                                       ",",
                                       "a b"};
constexpr std::string_view kSpaces[] = {"", "", "", "", " ", "\n", "\t", "\r\n ", "  "};
constexpr std::string_view kBytes = "{}[],:\"\\ue0123456789.+-NaftI \n\t/\x80\x01";

template <typename List>
std::string_view OneOf(const List& list, TestRng& rng) {
  return list[static_cast<std::size_t>(rng.Index(static_cast<int>(std::size(list))))];
}

class Maker {
 public:
  explicit Maker(TestRng& rng) : rng_(rng) {}
  std::string Take() { return std::move(out_); }

  void Object(const Descriptor& type, int depth) {
    List('{', '}', rng_.Index(depth == 0 ? 5 : 4), [&] { Member(type, depth); });
  }

 private:
  bool Seldom(int one_in) { return rng_.Index(one_in) == 0; }
  void Space() { out_ += OneOf(kSpaces, rng_); }

  template <typename Make>
  void List(char open, char close, int size, const Make& make) {
    out_ += open;
    for (int i = 0; i < size; ++i) {
      if (i > 0) out_ += ',';
      Space();
      make();
      Space();
    }
    out_ += close;
  }

  void Quoted(std::string_view text) { absl::StrAppend(&out_, "\"", std::string(text), "\""); }

  void Member(const Descriptor& type, int depth) {
    if (type.field_count() == 0 || Seldom(60)) {
      Quoted(Seldom(3) ? OneOf(kWords, rng_) : std::string_view("usr"));
      out_ += ':';
      return Odd(depth);
    }
    const FieldDescriptor& field = *type.field(rng_.Index(type.field_count()));
    Quoted(Seldom(3) ? field.name() : field.json_name());
    Space();
    out_ += ':';
    Space();
    if (Seldom(25)) return Odd(depth);
    if (field.is_map()) {
      return List('{', '}', rng_.Index(4), [&] {
        Quoted(Seldom(4) ? OneOf(kWords, rng_) : Letter());
        out_ += ':';
        Seldom(12) ? Odd(depth) : Value(*field.message_type()->map_value(), depth);
      });
    }
    if (field.is_repeated() && !Seldom(6)) {
      return List('[', ']', rng_.Index(4), [&] {
        if (Seldom(25)) return Odd(depth);
        if (Seldom(25)) return List('[', ']', rng_.Index(3), [&] { Value(field, depth); });
        Value(field, depth);
      });
    }
    Value(field, depth);
  }

  void Value(const FieldDescriptor& field, int depth) {
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_MESSAGE:
        if (field.message_type()->full_name() == "google.protobuf.Struct") return Any(depth, true);
        if (field.message_type()->full_name() == "google.protobuf.Timestamp" && !Seldom(5)) {
          return Quoted(Seldom(8) ? OneOf(kWords, rng_) : OneOf(kTimes, rng_));
        }
        if (field.message_type()->full_name() == "google.protobuf.FieldMask" && !Seldom(5)) {
          return Quoted(Seldom(8) ? OneOf(kWords, rng_) : OneOf(kMasks, rng_));
        }
        if (field.message_type()->full_name() == "google.protobuf.Duration" && !Seldom(4)) {
          return Quoted(Seldom(2) ? absl::StrFormat("%d.%03ds", rng_.Index(99), rng_.Index(999))
                                  : std::string(OneOf(kWords, rng_)));
        }
        return Object(*field.message_type(), depth + 1);
      case FieldDescriptor::CPPTYPE_STRING:
        return Quoted(OneOf(kWords, rng_));
      case FieldDescriptor::CPPTYPE_BOOL:
        return Seldom(3) ? Quoted(OneOf(kWords, rng_)) : Plain(Seldom(2) ? "true" : "false");
      case FieldDescriptor::CPPTYPE_ENUM:
        if (Seldom(2)) {
          const auto& type = *field.enum_type();
          return Quoted(type.value(rng_.Index(type.value_count()))->name());
        }
        return Seldom(2) ? Quoted(OneOf(kWords, rng_)) : Number();
      default:
        return Seldom(4) ? Quoted(Seldom(2) ? OneOf(kWords, rng_) : OneOf(kNumbers, rng_))
                         : Number();
    }
  }

  void Plain(std::string_view text) { out_ += text; }
  std::string_view Letter() {
    return std::string_view("abcde").substr(static_cast<std::size_t>(rng_.Index(5)), 1);
  }

  void Number() {
    switch (rng_.Index(5)) {
      case 0:
        return Plain(OneOf(kNumbers, rng_));
      case 1:
        return absl::StrAppend(&out_, rng_.Index(100));
      case 2:
        return absl::StrAppend(&out_, rng_.Bits() >> rng_.Index(64));
      case 3:
        return Plain(absl::StrFormat("%.17g", rng_.Normal()));
      default:
        return Plain(absl::StrFormat("%.*g", 1 + rng_.Index(20),
                                     rng_.Normal() * 1e20 / static_cast<double>(rng_.Bits())));
    }
  }

  // Any value: what a Struct has, or what stands where something else is wanted.
  void Any(int depth, bool object) {
    const int kind = object && !Seldom(8) ? 0 : depth > 5 ? 2 + rng_.Index(5) : rng_.Index(7);
    switch (kind) {
      case 0:
        return List('{', '}', rng_.Index(4), [&] {
          Quoted(Seldom(3) ? OneOf(kWords, rng_) : Letter());
          out_ += ':';
          Any(depth + 1, false);
        });
      case 1:
        return List('[', ']', rng_.Index(4), [&] { Any(depth + 1, false); });
      case 2:
        return Plain("null");
      case 3:
        return Plain(Seldom(2) ? "true" : "false");
      case 4:
        return Quoted(OneOf(kWords, rng_));
      default:
        return Number();
    }
  }
  void Odd(int depth) {
    if (Seldom(40)) {  // deep ones
      const int levels = 20 + rng_.Index(20);
      out_.append(static_cast<std::size_t>(levels), '[');
      out_.append(static_cast<std::size_t>(levels), ']');
      return;
    }
    Any(depth, false);
  }

  TestRng& rng_;
  std::string out_;
};

void Damage(std::string& text, TestRng& rng) {
  for (int i = 1 + rng.Index(2); i > 0 && !text.empty(); --i) {
    const auto at = static_cast<std::size_t>(rng.Index(static_cast<int>(text.size())));
    switch (rng.Index(4)) {
      case 0:
        text.erase(at, 1 + static_cast<std::size_t>(rng.Index(3)));
        break;
      case 1:
        text.insert(at, 1, kBytes[static_cast<std::size_t>(rng.Index(kBytes.size()))]);
        break;
      case 2:
        text[at] = kBytes[static_cast<std::size_t>(rng.Index(kBytes.size()))];
        break;
      default:
        text.insert(at, text.substr(at, 1 + static_cast<std::size_t>(rng.Index(8))));
    }
  }
}

}  // namespace

std::string OddJson(const Descriptor& type, TestRng& rng) {
  Maker maker(rng);
  maker.Object(type, 0);
  std::string text = maker.Take();
  if (rng.Index(5) == 0) Damage(text, rng);
  if (rng.Index(50) == 0) text.insert(0, "\xEF\xBB\xBF");
  if (rng.Index(50) == 0) text += kSpaces[static_cast<std::size_t>(rng.Index(9))];
  return text;
}

}  // namespace bandana::testing
