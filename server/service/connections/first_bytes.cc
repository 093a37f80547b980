#include "server/service/connections/first_bytes.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace bandana::server {
namespace {

constexpr std::string_view kPreface = "PRI * HTTP/2.0";
constexpr unsigned char kHandshakeRecord = 22;
constexpr unsigned char kClientHello = 1;
constexpr std::uint32_t kAlpn = 16;
constexpr std::size_t kRecordHead = 5;

// Reads numbers and blocks from the front; what is not there makes it fail for good.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  std::uint32_t Number(std::size_t width) {
    std::uint32_t value = 0;
    for (const char c : Take(width)) value = value << 8 | static_cast<unsigned char>(c);
    return value;
  }
  // With its length in front.
  std::string_view Block(std::size_t width) { return Take(Number(width)); }
  std::string_view Take(std::size_t size) {
    if (size > rest_.size()) {
      failed_ = true;
      rest_ = {};
      return {};
    }
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  bool more() const { return !failed_ && !rest_.empty(); }
  bool failed() const { return failed_; }

 private:
  std::string_view rest_;
  bool failed_ = false;
};

// `hello`: the body of a ClientHello (RFC 8446, 4.1.2).
WireProtocol OfHello(Reader hello) {
  hello.Take(2 + 32);  // version and random
  hello.Block(1);      // session
  hello.Block(2);      // ciphers
  hello.Block(1);      // compressions
  Reader extensions(hello.more() ? hello.Block(2) : std::string_view());
  if (hello.failed()) return WireProtocol::kHttp2;
  while (extensions.more()) {
    const std::uint32_t kind = extensions.Number(2);
    Reader content(extensions.Block(2));
    if (kind != kAlpn) continue;
    Reader names(content.Block(2));
    while (names.more()) {
      if (names.Block(1) == "http/1.1") return WireProtocol::kHttp1;
    }
    return WireProtocol::kHttp2;
  }
  return extensions.failed() ? WireProtocol::kHttp2 : WireProtocol::kHttp1;
}

}  // namespace

std::optional<WireProtocol> ProtocolOf(std::string_view bytes, bool tls) {
  if (!tls) {
    const std::size_t known = std::min(bytes.size(), kPreface.size());
    if (bytes.substr(0, known) != kPreface.substr(0, known)) return WireProtocol::kHttp1;
    return known == kPreface.size() ? std::optional(WireProtocol::kHttp2) : std::nullopt;
  }
  if (bytes.empty()) return std::nullopt;
  if (static_cast<unsigned char>(bytes[0]) != kHandshakeRecord) return WireProtocol::kHttp2;
  if (bytes.size() < kRecordHead) return std::nullopt;
  Reader record(bytes.substr(3));
  const std::uint32_t length = record.Number(2);
  if (bytes.size() < kRecordHead + length) return std::nullopt;
  Reader message(record.Take(length));
  if (message.Number(1) != kClientHello) return WireProtocol::kHttp2;
  Reader hello(message.Block(3));
  return message.failed() ? WireProtocol::kHttp2 : OfHello(hello);
}

}  // namespace bandana::server
