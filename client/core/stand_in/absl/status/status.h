// absl::Status without payloads.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/string_view.h"

namespace absl {

enum class StatusCode : int {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
  kUnauthenticated = 16,
};

class [[nodiscard]] Status {
 public:
  Status() = default;
  // An OK status has no message.
  Status(StatusCode code, string_view message)
      : code_(code), message_(code == StatusCode::kOk ? string_view() : message) {}

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  string_view message() const { return message_; }
  // Keeps the first failure.
  void Update(const Status& other) {
    if (ok()) *this = other;
  }
  void IgnoreError() const {}
  template <typename Visit>
  void ForEachPayload(Visit) const {}
  void SetPayload(string_view, const Cord&) {}

  friend bool operator==(const Status&, const Status&) = default;

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

inline Status OkStatus() { return {}; }

inline Status CancelledError(string_view text) { return {StatusCode::kCancelled, text}; }
inline Status DeadlineExceededError(string_view text) {
  return {StatusCode::kDeadlineExceeded, text};
}
inline Status InvalidArgumentError(string_view text) {
  return {StatusCode::kInvalidArgument, text};
}
inline Status NotFoundError(string_view text) { return {StatusCode::kNotFound, text}; }
inline Status ResourceExhaustedError(string_view text) {
  return {StatusCode::kResourceExhausted, text};
}
inline Status FailedPreconditionError(string_view text) {
  return {StatusCode::kFailedPrecondition, text};
}
inline Status InternalError(string_view text) { return {StatusCode::kInternal, text}; }
inline Status UnavailableError(string_view text) { return {StatusCode::kUnavailable, text}; }
inline Status DataLossError(string_view text) { return {StatusCode::kDataLoss, text}; }

inline bool IsInvalidArgument(const Status& s) { return s.code() == StatusCode::kInvalidArgument; }
inline bool IsNotFound(const Status& s) { return s.code() == StatusCode::kNotFound; }
inline bool IsFailedPrecondition(const Status& s) {
  return s.code() == StatusCode::kFailedPrecondition;
}
inline bool IsUnavailable(const Status& s) { return s.code() == StatusCode::kUnavailable; }
inline bool IsDataLoss(const Status& s) { return s.code() == StatusCode::kDataLoss; }

}  // namespace absl
