#include "server/ops/log_setup.h"

#include <spdlog/formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "common/base/status.h"

namespace bandana::server {
namespace {

constexpr char kLogger[] = "bandana-server";

// Length of the UTF-8 sequence at the begin of `text`, 0 when there is none.
std::size_t Sequence(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  const std::size_t size = first < 0x80   ? 1
                           : first < 0xc2 ? 0
                           : first < 0xe0 ? 2
                           : first < 0xf0 ? 3
                           : first < 0xf5 ? 4
                                          : 0;
  if (size == 0 || size > text.size()) return 0;
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const bool overlong = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90);
  const bool surrogate = first == 0xed && byte(1) >= 0xa0;
  const bool beyond = first == 0xf4 && byte(1) >= 0x90;
  return overlong || surrogate || beyond ? 0 : size;
}

// The words key=value of lines about calls (`call: ` and `admin: `,
// server/ops/observation/call_lines.h), as further members of the object.
std::string CallMembers(std::string_view text) {
  std::string members;
  if (!text.starts_with("call: ") && !text.starts_with("admin: ")) return members;
  for (const absl::string_view word : absl::StrSplit(ToAbsl(text), ' ')) {
    const std::size_t equals = word.find('=');
    if (equals == absl::string_view::npos) continue;
    absl::StrAppend(&members, ",", JsonString({word.data(), equals}), ":",
                    JsonString({word.data() + equals + 1, word.size() - equals - 1}));
  }
  return members;
}

class JsonFormatter final : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
    const auto level = spdlog::level::to_string_view(message.level);
    const std::string time = absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ",
                                              absl::FromChrono(message.time), absl::UTCTimeZone());
    const std::string_view text(message.payload.data(), message.payload.size());
    const std::string line = absl::StrCat(
        R"({"time":")", time, R"(","level":")", std::string(level.data(), level.size()),
        R"(","logger":")", kLogger, R"(","thread":)", message.thread_id, R"(,"message":)",
        JsonString(text), CallMembers(text), "}\n");
    out.append(line.data(), line.data() + line.size());
  }
  std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<JsonFormatter>();
  }
};

}  // namespace

std::string JsonString(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const auto c = static_cast<unsigned char>(text.front());
    const std::size_t size = Sequence(text);
    if (c == '"' || c == '\\') {
      absl::StrAppend(&out, "\\", std::string(1, text.front()));
    } else if (c == '\n') {
      out += "\\n";
    } else if (c < 0x20 || size == 0) {
      absl::StrAppendFormat(&out, "\\u%04x", c);
    } else {
      out.append(text.substr(0, size));
    }
    text.remove_prefix(size == 0 ? 1 : size);
  }
  return out + "\"";
}

void SetUpLog(v1::LogFormat format) {
  auto logger =
      std::make_shared<spdlog::logger>(kLogger, std::make_shared<spdlog::sinks::stderr_sink_mt>());
  if (format == v1::JSON) logger->set_formatter(std::make_unique<JsonFormatter>());
  logger->set_level(spdlog::get_level());
  spdlog::set_default_logger(std::move(logger));
}

void SetLogLevel(v1::LogLevel level) {
  spdlog::set_level(level == v1::ERROR     ? spdlog::level::err
                    : level == v1::WARNING ? spdlog::level::warn
                                           : spdlog::level::info);
}

}  // namespace bandana::server
