// The wire form of protobuf messages, read field by field without protobuf's library.
//
//   WireReader in(bytes);
//   while (in.Next()) {
//     if (in.field() == 1) in.Text(name);
//     if (in.field() == 2) in.Number(dimension);
//   }
//   if (!in.ok()) return InvalidArgument("not a model");
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bandana {

// Fields of any number and order, as protobuf 3.21 reads them: a value of another wire type than
// the one asked for is passed over, as an unknown field is; the last value of a field counts.
// Groups, which proto3 never writes, are refused. Messages in messages are views for readers of
// their own, so depth is in the caller's hands.
//
// Bytes: any. Errors: ok() turns false for good, and Next() answers false. Threads: one at a time.
class WireReader {
 public:
  // Views `bytes`, which outlive it.
  explicit WireReader(std::string_view bytes) : rest_(bytes) {}

  // Goes to the next field. False: there is none, or the bytes are no message.
  bool Next();
  // Whether all bytes so far were well formed.
  bool ok() const { return ok_; }
  // The bytes are no message: for a caller who finds damage inside a field.
  void Fail() { ok_ = false; }

  int field() const { return field_; }  // [1, 2^29)

  // The field's value, put into `out` if its wire type fits. Numbers are cut to the width of `out`.
  void Number(std::uint64_t& out) const;
  void Number(std::int64_t& out) const;
  void Number(std::uint32_t& out) const;
  void Number(std::int32_t& out) const;  // enums as well
  void Flag(bool& out) const;
  void Flag(std::optional<bool>& out) const;
  void Real(double& out) const;
  void Real(std::optional<double>& out) const;
  void Bytes(std::string& out) const;
  // Fails unless it is UTF-8.
  void Text(std::string& out);
  // A message's bytes. Where a message that is no list comes twice, protobuf merges both: read the
  // second into the values of the first.
  std::optional<std::string_view> Message() const;

  // The values of a list, packed or alone, put behind those of `out`. Fails where a value is cut.
  void Reals(std::vector<double>& out);
  void Floats(std::vector<float>& out);
  void Fixed(std::vector<std::uint32_t>& out);
  void Numbers(std::vector<std::uint64_t>& out);
  void Numbers(std::vector<std::uint32_t>& out);

 private:
  enum Kind : std::uint8_t { kVarint = 0, kFixed64 = 1, kBlock = 2, kFixed32 = 5 };

  std::string_view rest_;
  bool ok_ = true;
  int field_ = 0;
  std::uint8_t kind_ = kVarint;
  std::uint64_t number_ = 0;  // of kVarint
  std::string_view block_;    // of the other kinds
};

}  // namespace bandana
