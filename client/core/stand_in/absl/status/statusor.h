// absl::StatusOr: reading the value of a failure ends the program.
#pragma once

#include <cstdlib>
#include <memory>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"

namespace absl {

// GCC does not see that there is a value exactly where the status is OK.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

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
      : value_(std::forward<U>(value)) {}
  // NOLINTEND(bugprone-forwarding-reference-overload)
  template <typename U>
  requires(!std::is_same_v<T, U> && std::is_convertible_v<U, T> &&
           !std::is_convertible_v<StatusOr<U>, T>)
      StatusOr(StatusOr<U> other) {  // NOLINT(google-explicit-constructor)
    if (other.ok()) {
      std::construct_at(&value_, *std::move(other));
    } else {
      status_ = other.status();
    }
  }
  StatusOr(const StatusOr& other) requires(std::is_copy_constructible_v<T>)
      : status_(other.status_) {
    if (ok()) std::construct_at(&value_, other.value_);
  }
  // `other` stays a failure, or has a value that was moved from.
  StatusOr(StatusOr&& other) noexcept : status_(std::as_const(other.status_)) {
    if (ok()) std::construct_at(&value_, std::move(other.value_));
  }
  StatusOr& operator=(const StatusOr& other) requires(std::is_copy_constructible_v<T>) {
    return *this = StatusOr(other);
  }
  StatusOr& operator=(StatusOr&& other) noexcept {
    if (this != &other) {
      std::destroy_at(this);
      std::construct_at(this, std::move(other));
    }
    return *this;
  }
  ~StatusOr() {
    if (ok()) std::destroy_at(&value_);
  }

  bool ok() const { return status_.ok(); }
  const Status& status() const { return status_; }

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
    return ok() ? value_ : static_cast<T>(std::forward<U>(other));
  }

 private:
  T& Value() {
    if (!ok()) std::abort();
    return value_;
  }

  Status status_;  // OK: there is a value
  union {
    T value_;
  };
};

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

}  // namespace absl
