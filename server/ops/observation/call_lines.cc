#include "server/ops/observation/call_lines.h"

#include <spdlog/spdlog.h>

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/status.h"

namespace bandana::server {
namespace {

void AppendWord(std::string& line, std::string_view key, std::string_view value) {
  if (value.empty()) return;
  absl::StrAppend(&line, line.empty() ? "" : " ", ToAbsl(key), "=", ToAbsl(value));
}

}  // namespace

void LogLine(absl::Time time, bool warn, const std::string& text) {
  spdlog::default_logger_raw()->log(absl::ToChronoTime(time), spdlog::source_loc{},
                                    warn ? spdlog::level::warn : spdlog::level::info, text);
}

std::string CallLine(const CallRecord& record) {
  std::string line;
  AppendWord(line, "caller", record.caller);
  AppendWord(line, "method", record.method);
  AppendWord(line, "model", record.model);
  AppendWord(line, "code",
             absl::StatusCodeToString(static_cast<absl::StatusCode>(record.status_code)));
  AppendWord(line, "ms", absl::StrFormat("%.3f", absl::ToDoubleMilliseconds(record.duration)));
  AppendWord(line, "request_id", record.request_id);
  AppendWord(line, "trace_id", record.trace_id);
  return line;
}

void CallLines::Write(const CallRecord& record) {
  const bool server_fault =
      FaultOf(record.status_code) == Fault::kServer || record.duration >= kSlowCall;
  if (record.admin) return say_(clock_.Now(), server_fault, "admin: " + CallLine(record));
  const std::lock_guard lock(mutex_);
  if (room_[server_fault] == 0) {
    ++dropped_;
    return;
  }
  --room_[server_fault];
  lines_.push_back(
      {.time = clock_.Now(), .server_fault = server_fault, .text = "call: " + CallLine(record)});
}

void CallLines::Flush() {
  std::vector<Line> lines;
  std::uint64_t dropped = 0;
  {
    const std::lock_guard lock(mutex_);
    lines.swap(lines_);
    room_ = {kCallerFaultLinesMax, kServerFaultLinesMax};
    dropped = dropped_ - std::exchange(dropped_told_, dropped_);
  }
  for (const Line& line : lines) say_(line.time, line.server_fault, line.text);
  if (dropped == 0) return;
  say_(clock_.Now(), /*warn=*/true,
       absl::StrCat("call: ", dropped, " further failed or slow calls without a line"));
}

std::uint64_t CallLines::dropped() const {
  const std::lock_guard lock(mutex_);
  return dropped_;
}

}  // namespace bandana::server
