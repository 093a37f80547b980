// The demands of an rpc on its caller.
#pragma once

#include <cstdint>
#include <string_view>

namespace bandana::server {

enum class Role : std::uint8_t { kSelect = 1, kReport = 2, kAdmin = 4 };

// A set of roles.
class Roles {
 public:
  constexpr Roles() = default;
  constexpr Roles(Role role) : bits_(static_cast<std::uint8_t>(role)) {}  // NOLINT: a set of one
  constexpr Roles operator|(Roles other) const { return Roles(bits_ | other.bits_); }
  constexpr bool Intersects(Roles other) const { return (bits_ & other.bits_) != 0; }
  constexpr bool empty() const { return bits_ == 0; }

 private:
  constexpr explicit Roles(int bits) : bits_(static_cast<std::uint8_t>(bits)) {}
  std::uint8_t bits_ = 0;
};
constexpr Roles operator|(Role a, Role b) { return Roles(a) | Roles(b); }

enum class Scope {
  kOpen,         // anybody, any time: no role, no model
  kNamedModel,   // every model that the request names must be one of the caller's
  kWholeServer,  // a caller that is bound to some models may not
};

struct RpcRule {
  std::string_view rpc;  // package.Service/Method
  Roles any_of;          // one of them is enough; empty exactly for kOpen
  Scope scope{};
  // Its calls have a rate of their own: whether one came may be private (Rpc::may_be_unrecorded),
  // and what is left of a rate can be found out by whoever shares it.
  bool own_rate = false;
};

}  // namespace bandana::server
