// absl::StatusOr: reading the value of a failure ends the program.
#pragma once

#include <cstdlib>
#include <optional>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"

namespace absl {

template <typename T>
class [[nodiscard]] StatusOr {
 public:
  using value_type = T;

  StatusOr() : status_(StatusCode::kUnknown, "") {}
  // Requires a failure.
  StatusOr(Status status) : status_(std::move(status)) {  // NOLINT(google-explicit-constructor)
    if (status_.ok()) std::abort();
  }
  // NOLINTBEGIN(bugprone-forwarding-reference-overload): constrained
  template <typename U = T>
  requires(std::is_constructible_v<T, U&&>&& std::is_convertible_v<U&&, T> &&
           !std::is_same_v<std::remove_cvref_t<U>, StatusOr> &&
           !std::is_same_v<std::remove_cvref_t<U>, Status>)
      StatusOr(U&& value)  // NOLINT(google-explicit-constructor)
      : value_(std::in_place, std::forward<U>(value)) {}
  // NOLINTEND(bugprone-forwarding-reference-overload)
  template <typename U>
  requires(!std::is_same_v<T, U> && std::is_convertible_v<U, T> &&
           !std::is_convertible_v<StatusOr<U>, T>)
      StatusOr(StatusOr<U> other) {  // NOLINT(google-explicit-constructor)
    if (other.ok()) {
      value_.emplace(*std::move(other));
    } else {
      status_ = other.status();
    }
  }

  bool ok() const { return value_.has_value(); }
  const Status& status() const& { return status_; }
  Status status() && { return std::move(status_); }

  T& operator*() & { return Value(); }
  const T& operator*() const& { return const_cast<StatusOr*>(this)->Value(); }
  T&& operator*() && { return std::move(Value()); }
  T* operator->() { return &Value(); }
  const T* operator->() const { return &const_cast<StatusOr*>(this)->Value(); }
  T& value() & { return Value(); }
  const T& value() const& { return **this; }
  T&& value() && { return std::move(Value()); }
  template <typename U>
  T value_or(U&& other) const& {
    return ok() ? *value_ : static_cast<T>(std::forward<U>(other));
  }

 private:
  T& Value() {
    if (!value_) std::abort();
    return *value_;
  }

  Status status_;
  std::optional<T> value_;
};

}  // namespace absl
