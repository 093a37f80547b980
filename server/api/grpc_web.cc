#include "server/api/grpc_web.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "common/base/status.h"
#include "server/api/answers.h"
#include "server/service/transport/error_text.h"

namespace bandana::server {
namespace {

constexpr std::size_t kHeadBytes = 5;  // flags, length
constexpr unsigned char kCompressed = 0x01;
constexpr unsigned char kTrailers = 0x80;

std::string Frame(unsigned char flags, std::string_view content) {
  std::string frame(1, static_cast<char>(flags));
  const auto size = static_cast<std::uint32_t>(content.size());
  for (const int shift : {24, 16, 8, 0}) frame += static_cast<char>(size >> shift);
  frame += content;
  return frame;
}

// Clients may encode parts one by one, each with its own padding.
std::optional<std::string> Decoded(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t pad = text.find('=');
    std::size_t end = text.size();
    if (pad != std::string_view::npos) end = std::min(text.size(), (pad / 4 + 1) * 4);
    std::string part;
    if (!absl::Base64Unescape(ToAbsl(text.substr(0, end)), &part)) return std::nullopt;
    out += part;
    text.remove_prefix(end);
  }
  return out;
}

HttpAnswer Answer(std::string body, WebForm form) {
  HttpAnswer answer;
  answer.headers = {{"content-type", form == WebForm::kText ? "application/grpc-web-text+proto"
                                                            : "application/grpc-web+proto"},
                    {"cache-control", "no-store"},
                    {"x-content-type-options", "nosniff"}};
  answer.body = form == WebForm::kText ? absl::Base64Escape(body) : std::move(body);
  return answer;
}

// Percent-encoded, as gRPC has it.
std::string MessageText(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c >= ' ' && c <= '~' && c != '%') {
      out += c;
    } else {
      absl::StrAppendFormat(&out, "%%%02X", static_cast<unsigned char>(c));
    }
  }
  return out;
}

}  // namespace

std::optional<WebForm> WebFormOf(std::string_view content_type) {
  std::string_view type = content_type.substr(0, content_type.find(';'));
  while (type.ends_with(' ')) type.remove_suffix(1);
  if (type.ends_with("+proto")) type.remove_suffix(6);
  if (type == "application/grpc-web") return WebForm::kBinary;
  if (type == "application/grpc-web-text") return WebForm::kText;
  return std::nullopt;
}

std::optional<absl::Duration> TimeoutOf(std::string_view text) {
  constexpr std::size_t kDigitsMax = 8;
  const std::string_view digits =
      text.substr(0, text.size() - std::min<std::size_t>(1, text.size()));
  std::int64_t count = 0;
  if (digits.empty() || digits.size() > kDigitsMax ||
      digits.find_first_not_of("0123456789") != std::string_view::npos ||
      !absl::SimpleAtoi(ToAbsl(digits), &count)) {
    return std::nullopt;
  }
  switch (text.back()) {
    case 'H':
      return absl::Hours(count);
    case 'M':
      return absl::Minutes(count);
    case 'S':
      return absl::Seconds(count);
    case 'm':
      return absl::Milliseconds(count);
    case 'u':
      return absl::Microseconds(count);
    case 'n':
      return absl::Nanoseconds(count);
    default:
      return std::nullopt;
  }
}

absl::StatusOr<std::string> ReadWebMessage(std::string_view body, WebForm form) {
  std::string decoded;
  if (form == WebForm::kText) {
    std::optional<std::string> bytes = Decoded(body);
    if (!bytes) return InvalidArgument("request: is not base64");
    decoded = *std::move(bytes);
    body = decoded;
  }
  if (body.size() < kHeadBytes) return InvalidArgument("request: has no frame of gRPC-Web");
  const auto flags = static_cast<unsigned char>(body[0]);
  if ((flags & kCompressed) != 0) {
    return absl::UnimplementedError("request: compressed messages are not taken");
  }
  std::uint32_t size = 0;
  for (int i = 1; i < 5; ++i) size = size << 8 | static_cast<unsigned char>(body[i]);
  if (flags != 0 || size != body.size() - kHeadBytes) {
    return InvalidArgument("request: must be one frame of gRPC-Web with one message");
  }
  return std::string(body.substr(kHeadBytes));
}

HttpAnswer WebAnswer(const std::string& message, WebForm form) {
  return Answer(Frame(0, message) + Frame(kTrailers, "grpc-status: 0\r\n"), form);
}

HttpAnswer WebError(const CallEnd& end, WebForm form) {
  HttpAnswer answer = Answer("", form);
  answer.headers.push_back({"grpc-status", absl::StrCat(static_cast<int>(end.status.code()))});
  answer.headers.push_back({"grpc-message", MessageText(TextForPeer(end.status.message()))});
  AddCallHeaders(end, answer);
  return answer;
}

}  // namespace bandana::server
