#include "common/base/wire_reader.h"

#include <bit>
#include <cstddef>
#include <cstring>

#include "common/base/utf8.h"

namespace bandana {
namespace {

// The number at the front of `rest`, which follows it. Nothing: it is cut, or has more bytes than
// `bytes_max`. Bits above 64 are dropped.
std::optional<std::uint64_t> TakeVarint(std::string_view& rest, std::size_t bytes_max) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < bytes_max && i < rest.size(); ++i) {
    const auto byte = static_cast<unsigned char>(rest[i]);
    number |= static_cast<std::uint64_t>(byte & 127) << (7 * i);
    if (byte >= 128) continue;
    rest.remove_prefix(i + 1);
    return number;
  }
  return std::nullopt;
}

constexpr std::size_t kVarintBytesMax = 10;
// Tags and sizes have 32 bits.
constexpr std::size_t kShortBytesMax = 5;

template <typename Value>
Value FixedAt(const char* bytes) {
  static_assert(std::endian::native == std::endian::little);
  Value value{};
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

// False: the block ends within a value.
template <typename Value>
bool AppendFixed(std::string_view block, std::vector<Value>& out) {
  if (block.size() % sizeof(Value) != 0) return false;
  out.reserve(out.size() + block.size() / sizeof(Value));
  for (std::size_t at = 0; at < block.size(); at += sizeof(Value)) {
    out.push_back(FixedAt<Value>(block.data() + at));
  }
  return true;
}

template <typename Value>
bool AppendVarints(std::string_view block, std::vector<Value>& out) {
  while (!block.empty()) {
    const auto number = TakeVarint(block, kVarintBytesMax);
    if (!number) return false;
    out.push_back(static_cast<Value>(*number));
  }
  return true;
}

}  // namespace

bool WireReader::Next() {
  if (!ok_ || rest_.empty()) return false;
  ok_ = false;
  const auto tag = TakeVarint(rest_, kShortBytesMax);
  if (!tag) return false;
  field_ = static_cast<int>(static_cast<std::uint32_t>(*tag) >> 3);
  if (field_ == 0) return false;
  kind_ = static_cast<std::uint8_t>(*tag & 7);
  std::size_t size = 0;
  switch (kind_) {
    case kVarint: {
      const auto number = TakeVarint(rest_, kVarintBytesMax);
      if (!number) return false;
      number_ = *number;
      return ok_ = true;
    }
    case kFixed64:
      size = 8;
      break;
    case kFixed32:
      size = 4;
      break;
    case kBlock: {
      const auto bytes = TakeVarint(rest_, kShortBytesMax);
      if (!bytes || *bytes > rest_.size()) return false;
      size = static_cast<std::size_t>(*bytes);
      break;
    }
    default:
      return false;
  }
  if (rest_.size() < size) return false;
  block_ = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return ok_ = true;
}

void WireReader::Number(std::uint64_t& out) const {
  if (kind_ == kVarint) out = number_;
}

void WireReader::Number(std::int64_t& out) const {
  if (kind_ == kVarint) out = static_cast<std::int64_t>(number_);
}

void WireReader::Number(std::uint32_t& out) const {
  if (kind_ == kVarint) out = static_cast<std::uint32_t>(number_);
}

void WireReader::Number(std::int32_t& out) const {
  if (kind_ == kVarint) out = static_cast<std::int32_t>(number_);
}

void WireReader::Flag(bool& out) const {
  if (kind_ == kVarint) out = number_ != 0;
}

void WireReader::Flag(std::optional<bool>& out) const {
  if (kind_ == kVarint) out = number_ != 0;
}

void WireReader::Real(double& out) const {
  if (kind_ == kFixed64) out = FixedAt<double>(block_.data());
}

void WireReader::Real(std::optional<double>& out) const {
  if (kind_ == kFixed64) out = FixedAt<double>(block_.data());
}

void WireReader::Bytes(std::string& out) const {
  if (kind_ == kBlock) out = std::string(block_);
}

void WireReader::Text(std::string& out) {
  Bytes(out);
  if (kind_ == kBlock && !IsUtf8(block_)) ok_ = false;
}

std::optional<std::string_view> WireReader::Message() const {
  return kind_ == kBlock ? std::optional(block_) : std::nullopt;
}

void WireReader::Reals(std::vector<double>& out) {
  if (kind_ == kBlock || kind_ == kFixed64) ok_ = AppendFixed(block_, out) && ok_;
}

void WireReader::Floats(std::vector<float>& out) {
  if (kind_ == kBlock || kind_ == kFixed32) ok_ = AppendFixed(block_, out) && ok_;
}

void WireReader::Fixed(std::vector<std::uint32_t>& out) {
  if (kind_ == kBlock || kind_ == kFixed32) ok_ = AppendFixed(block_, out) && ok_;
}

void WireReader::Numbers(std::vector<std::uint64_t>& out) {
  if (kind_ == kVarint) out.push_back(number_);
  if (kind_ == kBlock) ok_ = AppendVarints(block_, out) && ok_;
}

void WireReader::Numbers(std::vector<std::uint32_t>& out) {
  if (kind_ == kVarint) out.push_back(static_cast<std::uint32_t>(number_));
  if (kind_ == kBlock) ok_ = AppendVarints(block_, out) && ok_;
}

}  // namespace bandana
