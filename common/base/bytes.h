// Little-endian encoding of log records and checkpoint files into a string, and bounds-checked
// reading back.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace bandana {

static_assert(std::endian::native == std::endian::little, "files are little-endian");

class ByteWriter {
 public:
  explicit ByteWriter(std::string& out) : out_(out) {}
  void U8(std::uint8_t v) { Raw(&v, sizeof v); }
  void U32(std::uint32_t v) { Raw(&v, sizeof v); }
  void I32(std::int32_t v) { Raw(&v, sizeof v); }
  void U64(std::uint64_t v) { Raw(&v, sizeof v); }
  void I64(std::int64_t v) { Raw(&v, sizeof v); }
  void F64(double v) { Raw(&v, sizeof v); }
  void Doubles(std::span<const double> v) { Raw(v.data(), v.size_bytes()); }
  void Fixed(std::span<const std::byte> v) { Raw(v.data(), v.size()); }
  // Length (u64), then the bytes.
  void Block(std::string_view v) {
    U64(v.size());
    Raw(v.data(), v.size());
  }

 private:
  void Raw(const void* data, std::size_t size) {
    out_.append(static_cast<const char*>(data), size);
  }
  std::string& out_;
};

// After any read past the end, ok() is false and every value is zero or empty.
class ByteReader {
 public:
  explicit ByteReader(std::string_view in) : in_(in) {}
  std::uint8_t U8() { return Number<std::uint8_t>(); }
  std::uint32_t U32() { return Number<std::uint32_t>(); }
  std::int32_t I32() { return Number<std::int32_t>(); }
  std::uint64_t U64() { return Number<std::uint64_t>(); }
  std::int64_t I64() { return Number<std::int64_t>(); }
  double F64() { return Number<double>(); }
  void Doubles(std::span<double> out) { Copy(out.data(), out.size_bytes()); }
  void Fixed(std::span<std::byte> out) { Copy(out.data(), out.size()); }
  std::string_view Take(std::uint64_t size) {
    if (size > in_.size()) {
      ok_ = false;
      in_ = {};
      return {};
    }
    const std::string_view taken = in_.substr(0, size);
    in_.remove_prefix(size);
    return taken;
  }
  std::string_view Block() { return Take(U64()); }

  bool ok() const { return ok_; }
  // Everything was there and nothing is left over.
  bool Done() const { return ok_ && in_.empty(); }
  std::size_t remaining() const { return in_.size(); }

 private:
  template <typename T>
  T Number() {
    T v{};
    Copy(&v, sizeof v);
    return v;
  }
  void Copy(void* out, std::size_t size) {
    const std::string_view taken = Take(size);
    if (ok_ && size > 0) std::memcpy(out, taken.data(), size);
  }
  std::string_view in_;
  bool ok_ = true;
};

}  // namespace bandana
