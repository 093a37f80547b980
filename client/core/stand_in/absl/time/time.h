// absl::Duration and absl::Time in whole nanoseconds: 292 years either way, and beyond that
// infinity.
#pragma once

#include <compare>
#include <concepts>
#include <cstdint>
#include <limits>
#include <string>

namespace absl {

class Duration {
 public:
  constexpr Duration() = default;
  constexpr std::int64_t nanos() const { return nanos_; }
  // Infinite where it does not fit.
  static constexpr Duration OfNanos(__int128 nanos) {
    Duration result;
    result.nanos_ = nanos >= kMax ? kMax : nanos <= kMin ? kMin : static_cast<std::int64_t>(nanos);
    return result;
  }
  constexpr bool infinite() const { return nanos_ == kMax || nanos_ == kMin; }

  [[gnu::noinline]] constexpr Duration& operator+=(Duration other) {
    if (!infinite()) *this = other.infinite() ? other : OfNanos(__int128{nanos_} + other.nanos_);
    return *this;
  }
  constexpr Duration& operator-=(Duration other) { return *this += -other; }
  constexpr Duration operator-() const {
    return OfNanos(nanos_ == kMin ? kMax : nanos_ == kMax ? kMin : -nanos_);
  }
  friend constexpr Duration operator+(Duration a, Duration b) { return a += b; }
  friend constexpr Duration operator-(Duration a, Duration b) { return a -= b; }
  template <std::integral Integer>
  friend constexpr Duration operator*(Duration a, Integer b) {
    if (a.infinite()) return b < 0 ? -a : a;
    return OfNanos(__int128{a.nanos_} * b);
  }
  friend Duration operator*(Duration a, double b);
  template <typename Number>
  friend Duration operator*(Number a, Duration b) {
    return b * a;
  }
  template <std::integral Integer>
  friend constexpr Duration operator/(Duration a, Integer b) {
    if (a.infinite()) return b < 0 ? -a : a;
    return OfNanos(a.nanos_ / b);
  }
  friend constexpr auto operator<=>(const Duration&, const Duration&) = default;  // NOLINT

 private:
  static constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  static constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
  std::int64_t nanos_ = 0;
};

namespace stand_in {

constexpr double kMaxNanos = 9.2e18;

inline Duration OfReal(double nanos) {
  if (nanos >= kMaxNanos) return Duration::OfNanos(std::numeric_limits<std::int64_t>::max());
  if (!(nanos > -kMaxNanos)) return Duration::OfNanos(std::numeric_limits<std::int64_t>::min());
  return Duration::OfNanos(static_cast<std::int64_t>(nanos));
}

template <typename Number>
constexpr Duration Of(Number count, std::int64_t unit) {
  if constexpr (std::integral<Number>) {
    return Duration::OfNanos(__int128{count} * unit);
  } else {
    return OfReal(count * static_cast<double>(unit));
  }
}

}  // namespace stand_in

inline Duration operator*(Duration a, double b) {
  return stand_in::OfReal(static_cast<double>(a.nanos()) * b);
}

constexpr Duration ZeroDuration() { return {}; }
constexpr Duration InfiniteDuration() {
  return Duration::OfNanos(std::numeric_limits<std::int64_t>::max());
}
template <typename Number>
constexpr Duration Nanoseconds(Number n) {
  return stand_in::Of(n, 1);
}
template <typename Number>
constexpr Duration Microseconds(Number n) {
  return stand_in::Of(n, 1'000);
}
template <typename Number>
constexpr Duration Milliseconds(Number n) {
  return stand_in::Of(n, 1'000'000);
}
template <typename Number>
constexpr Duration Seconds(Number n) {
  return stand_in::Of(n, 1'000'000'000);
}
template <typename Number>
constexpr Duration Minutes(Number n) {
  return stand_in::Of(n, 60'000'000'000);
}
template <typename Number>
constexpr Duration Hours(Number n) {
  return stand_in::Of(n, 3'600'000'000'000);
}

namespace stand_in {

constexpr std::int64_t InUnits(Duration d, std::int64_t unit) {
  return d.infinite() ? d.nanos() : d.nanos() / unit;
}

}  // namespace stand_in

// Towards zero.
constexpr std::int64_t ToInt64Nanoseconds(Duration d) { return stand_in::InUnits(d, 1); }
constexpr std::int64_t ToInt64Microseconds(Duration d) { return stand_in::InUnits(d, 1'000); }
constexpr std::int64_t ToInt64Milliseconds(Duration d) { return stand_in::InUnits(d, 1'000'000); }
constexpr std::int64_t ToInt64Seconds(Duration d) { return stand_in::InUnits(d, 1'000'000'000); }
inline double ToDoubleSeconds(Duration d) {
  if (d.infinite()) return d.nanos() > 0 ? 1.0 / 0.0 : -1.0 / 0.0;
  return static_cast<double>(d.nanos()) * 1e-9;
}

namespace stand_in {

// `nanos` in units of so many, with the digits that its fraction needs; nothing where it is 0.
inline void AppendUnits(std::string& out, std::int64_t nanos, std::int64_t unit, const char* name) {
  if (nanos == 0) return;
  out += std::to_string(nanos / unit);
  if (std::int64_t rest = nanos % unit; rest != 0) {
    out += '.';
    for (; rest != 0; rest %= unit) {
      unit /= 10;
      out += static_cast<char>('0' + rest / unit);
    }
  }
  out += name;
}

}  // namespace stand_in

// "72h3m0.5s", "1.5ms", "0", "-inf".
inline std::string FormatDuration(Duration d) {
  std::string out = d < ZeroDuration() ? "-" : "";
  if (d.infinite()) return out + "inf";
  const std::int64_t n = d.nanos() < 0 ? -d.nanos() : d.nanos();
  if (n == 0) return "0";
  if (n < 1'000) {
    stand_in::AppendUnits(out, n, 1, "ns");
  } else if (n < 1'000'000) {
    stand_in::AppendUnits(out, n, 1'000, "us");
  } else if (n < 1'000'000'000) {
    stand_in::AppendUnits(out, n, 1'000'000, "ms");
  } else {
    const std::int64_t minute = 60'000'000'000;
    stand_in::AppendUnits(out, n - n % (60 * minute), 60 * minute, "h");
    stand_in::AppendUnits(out, n % (60 * minute) - n % minute, minute, "m");
    stand_in::AppendUnits(out, n % minute, 1'000'000'000, "s");
  }
  return out;
}

class Time {
 public:
  constexpr Time() = default;
  constexpr Time& operator+=(Duration d) {
    since_epoch_ += d;
    return *this;
  }
  constexpr Time& operator-=(Duration d) {
    since_epoch_ -= d;
    return *this;
  }
  friend constexpr Time operator+(Time a, Duration b) { return a += b; }
  friend constexpr Time operator+(Duration a, Time b) { return b += a; }
  friend constexpr Time operator-(Time a, Duration b) { return a -= b; }
  friend constexpr Duration operator-(Time a, Time b) { return a.since_epoch_ - b.since_epoch_; }
  friend constexpr auto operator<=>(const Time&, const Time&) = default;  // NOLINT

 private:
  Duration since_epoch_;
};

constexpr Time UnixEpoch() { return {}; }
constexpr Time InfiniteFuture() { return Time() + InfiniteDuration(); }
constexpr Time InfinitePast() { return Time() - InfiniteDuration(); }
constexpr Time FromUnixNanos(std::int64_t n) { return Time() + Nanoseconds(n); }
constexpr Time FromUnixMicros(std::int64_t n) { return Time() + Microseconds(n); }
constexpr Time FromUnixMillis(std::int64_t n) { return Time() + Milliseconds(n); }
constexpr Time FromUnixSeconds(std::int64_t n) { return Time() + Seconds(n); }

namespace stand_in {

// Towards the past.
constexpr std::int64_t UnixUnits(Time t, std::int64_t unit) {
  const Duration d = t - UnixEpoch();
  if (d.infinite()) return d.nanos();
  return d.nanos() / unit - (d.nanos() % unit < 0 ? 1 : 0);
}

}  // namespace stand_in

constexpr std::int64_t ToUnixNanos(Time t) { return stand_in::UnixUnits(t, 1); }
constexpr std::int64_t ToUnixMicros(Time t) { return stand_in::UnixUnits(t, 1'000); }
constexpr std::int64_t ToUnixMillis(Time t) { return stand_in::UnixUnits(t, 1'000'000); }
constexpr std::int64_t ToUnixSeconds(Time t) { return stand_in::UnixUnits(t, 1'000'000'000); }

}  // namespace absl
