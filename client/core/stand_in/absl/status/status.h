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

// One pointer: null is OK. A moved-from status is OK.
class [[nodiscard]] Status {
 public:
  Status() = default;
  // An OK status has no message.
  Status(StatusCode code, string_view message) : failure_(Failure::Make(code, message)) {}
  Status(const Status& other) : failure_(Failure::Copy(other.failure_)) {}
  Status(Status&& other) noexcept : failure_(std::exchange(other.failure_, nullptr)) {}
  Status& operator=(Status other) noexcept {
    std::swap(failure_, other.failure_);
    return *this;
  }
  ~Status() {
    if (failure_ != nullptr) Failure::Free(failure_);
  }

  bool ok() const { return failure_ == nullptr; }
  StatusCode code() const { return ok() ? StatusCode::kOk : failure_->code; }
  string_view message() const { return ok() ? string_view() : string_view(failure_->message); }
  // Keeps the first failure.
  void Update(const Status& other) {
    if (ok()) *this = other;
  }
  void IgnoreError() const {}
  template <typename Visit>
  void ForEachPayload(Visit) const {}
  void SetPayload(string_view, const Cord&) {}

  friend bool operator==(const Status& a, const Status& b) {
    return a.code() == b.code() && a.message() == b.message();
  }

 private:
  // Its functions are calls everywhere: statuses are returned all over the core.
  struct Failure {
    StatusCode code;
    std::string message;

    [[gnu::noinline]] static Failure* Make(StatusCode code, string_view message) {
      return code == StatusCode::kOk ? nullptr : new Failure{code, std::string(message)};
    }
    [[gnu::noinline]] static Failure* Copy(const Failure* failure) {
      return failure == nullptr ? nullptr : new Failure(*failure);
    }
    [[gnu::noinline]] static void Free(Failure* failure) { delete failure; }
  };
  Failure* failure_ = nullptr;
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
