#include "server/service/transport/call_log.h"

#include <grpcpp/server_context.h>

#include <algorithm>
#include <array>
#include <cstddef>

#include "absl/strings/escaping.h"
#include "common/base/status.h"
#include "server/service/tokens/random_buffer.h"

namespace bandana::server {
namespace {

constexpr std::size_t kTraceIdDigits = 32;

bool IsLowerHex(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

}  // namespace

Fault FaultOf(int status_code) {
  switch (static_cast<grpc::StatusCode>(status_code)) {
    case grpc::StatusCode::OK:
    case grpc::StatusCode::CANCELLED:
    case grpc::StatusCode::PERMISSION_DENIED:
    case grpc::StatusCode::UNAUTHENTICATED:
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      return Fault::kNone;
    case grpc::StatusCode::INVALID_ARGUMENT:
    case grpc::StatusCode::NOT_FOUND:
    case grpc::StatusCode::ALREADY_EXISTS:
    case grpc::StatusCode::FAILED_PRECONDITION:
    case grpc::StatusCode::OUT_OF_RANGE:
      return Fault::kCaller;
    default:
      return Fault::kServer;
  }
}

std::string NewRequestId() {
  std::array<std::byte, 8> bytes{};
  FillRandom(bytes).IgnoreError();
  return absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

// https://www.w3.org/TR/trace-context: version 00 is `00-<32 digits>-<16 digits>-<2 digits>`; later
// versions may go on after it.
TraceParent ParseTraceparent(std::string_view value) {
  constexpr std::size_t kVersionZero = 55;
  if (value.size() < kVersionZero || value[2] != '-' || value[35] != '-' || value[52] != '-') {
    return {};
  }
  const std::string_view version = value.substr(0, 2);
  const std::string_view id = value.substr(3, kTraceIdDigits);
  const std::string_view parent = value.substr(36, 16);
  const std::string_view flags = value.substr(53, 2);
  const bool digits =
      IsLowerHex(version) && IsLowerHex(id) && IsLowerHex(parent) && IsLowerHex(flags);
  const bool ends = value.size() == kVersionZero || (version != "00" && value[55] == '-');
  const auto is_zero = [](std::string_view digits) {
    return digits.find_first_not_of('0') == std::string_view::npos;
  };
  if (!digits || !ends || version == "ff" || is_zero(id) || is_zero(parent)) return {};
  // The lowest bit of the flags: an odd last digit.
  const bool sampled = std::string_view("13579bdf").find(flags[1]) != std::string_view::npos;
  return {.trace_id = std::string(id), .parent_id = std::string(parent), .sampled = sampled};
}

TraceParent TraceParentOf(const grpc::ServerContextBase& context) {
  const auto found = context.client_metadata().find("traceparent");
  if (found == context.client_metadata().end()) return {};
  return ParseTraceparent({found->second.data(), found->second.size()});
}

}  // namespace bandana::server
