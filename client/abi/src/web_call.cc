#include "client/abi/src/web_call.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "common/base/limits.h"
#include "common/base/status.h"

namespace bandana::abi {
namespace {

constexpr std::size_t kHeadBytes = 5;  // flags, length
constexpr unsigned char kTrailers = 0x80;
constexpr std::string_view kStatus = "grpc-status";
constexpr std::string_view kMessage = "grpc-message";
constexpr std::string_view kPushback = "grpc-retry-pushback-ms";

// In the order of device::Method.
constexpr const char* kPaths[] = {
    "/bandana.v1.Recommender/GetModel",      "/bandana.v1.Recommender/Select",
    "/bandana.v1.Recommender/BatchSelect",   "/bandana.v1.Recommender/Report",
    "/bandana.v1.Recommender/Submit",        "/bandana.v1.Recommender/GetPosterior",
    "/bandana.v1.Recommender/GetArmEffects", "/bandana.v1.Recommender/Activate"};

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool SameName(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return Lower(x) == Lower(y); });
}

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::optional<std::string_view> Find(const Headers& headers, std::string_view name) {
  for (const auto& [given, value] : headers) {
    if (SameName(given, name)) return Trimmed(value);
  }
  return std::nullopt;
}

std::optional<std::int64_t> IntegerOf(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

int HexOf(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c = Lower(c);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// Percent-encoded, as gRPC has it.
std::string MessageOf(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size() && out.size() < kErrorMessageBytesMax; ++i) {
    if (text[i] == '%' && i + 2 < text.size() && HexOf(text[i + 1]) >= 0 &&
        HexOf(text[i + 2]) >= 0) {
      out += static_cast<char>(HexOf(text[i + 1]) * 16 + HexOf(text[i + 2]));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

// gRPC's table of HTTP statuses (http-grpc-status-mapping).
absl::StatusCode CodeOfHttp(std::int32_t status) {
  switch (status) {
    case 400:
      return absl::StatusCode::kInternal;
    case 401:
      return absl::StatusCode::kUnauthenticated;
    case 403:
      return absl::StatusCode::kPermissionDenied;
    case 404:
      return absl::StatusCode::kUnimplemented;
    case 429:
    case 502:
    case 503:
    case 504:
      return absl::StatusCode::kUnavailable;
    default:
      return absl::StatusCode::kUnknown;
  }
}

WebAnswer Failed(absl::Status status) { return {{std::move(status), std::nullopt}, {}}; }

// `fields`: headers or trailers with a status.
device::Answer AnswerOf(const Headers& fields) {
  const std::optional<std::int64_t> code = IntegerOf(Find(fields, kStatus).value_or(""));
  device::Answer answer;
  if (code && *code == 0) return answer;
  const bool known = code && *code > 0 && *code <= 16;
  answer.status = absl::Status(known ? static_cast<absl::StatusCode>(*code)  //
                                     : absl::StatusCode::kUnknown,
                               MessageOf(Find(fields, kMessage).value_or("")));
  if (const auto pushback = Find(fields, kPushback)) {
    const auto millis = IntegerOf(*pushback);
    answer.pushback = millis ? absl::Milliseconds(*millis) : -absl::InfiniteDuration();
  }
  return answer;
}

Headers TrailersOf(std::string_view text) {
  Headers fields;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find("\r\n"));
    text.remove_prefix(std::min(text.size(), line.size() + 2));
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    fields.emplace_back(Trimmed(line.substr(0, colon)), line.substr(colon + 1));
  }
  return fields;
}

// Message, then trailers, then nothing.
WebAnswer ReadBody(std::string_view body) {
  const auto wrong = [](const char* what) {
    return Failed(Internal("the answer is not gRPC-Web: ", what));
  };
  std::optional<std::string> message;
  while (body.size() >= kHeadBytes) {
    const auto flags = static_cast<unsigned char>(body[0]);
    std::uint64_t size = 0;
    for (int i = 1; i < 5; ++i) size = size << 8 | static_cast<unsigned char>(body[i]);
    body.remove_prefix(kHeadBytes);
    if (size > body.size()) return wrong("a frame is cut off");
    const std::string_view content = body.substr(0, size);
    body.remove_prefix(size);
    if (flags == 0) {
      if (message) return wrong("two messages");
      message = std::string(content);
      continue;
    }
    if (flags != kTrailers) return wrong("a frame has unknown flags");
    if (!body.empty()) return wrong("bytes behind its trailers");
    const Headers fields = TrailersOf(content);
    if (!Find(fields, kStatus)) return wrong("no grpc-status");
    WebAnswer answer{AnswerOf(fields), {}};
    if (!answer.answer.status.ok()) return answer;
    if (!message) return wrong("no message");
    answer.message = *std::move(message);
    return answer;
  }
  return wrong("no trailers");
}

}  // namespace

const char* PathOf(device::Method method) { return kPaths[static_cast<std::size_t>(method)]; }

std::string WebRequest(std::string_view message) {
  std::string frame(1, '\0');
  for (const int shift : {24, 16, 8, 0}) frame += static_cast<char>(message.size() >> shift);
  return frame.append(message);
}

WebAnswer ReadWebAnswer(std::int32_t http_status, const Headers& headers, std::string_view body) {
  if (http_status == 0) return Failed(Unavailable("no answer from the server"));
  if (http_status == -1) return Failed(absl::DeadlineExceededError("no answer in time"));
  const auto status = Find(headers, kStatus);
  if (status && IntegerOf(*status) != 0) return {AnswerOf(headers), {}};
  if (http_status != 200) {
    return Failed(absl::Status(CodeOfHttp(http_status),
                               absl::StrCat("the server answered with HTTP ", http_status)));
  }
  return ReadBody(body);
}

}  // namespace bandana::abi
