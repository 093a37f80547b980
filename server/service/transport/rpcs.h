// The rpcs that a server answers, a row each: who may call it, and how its calls are served.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "server/service/access/rules.h"
#include "server/service/transport/handlers.h"

namespace bandana::server {

// Calls of a class wait together. Among the calls fetched in one pass, classes are served in this
// order.
enum class CallClass : std::uint8_t { kSelect, kReport };
inline constexpr int kCallClasses = 2;

// The objects that the exchanges of a listener call.
struct Callees {
  Handlers& handlers;
  const ServingQuery* serving = nullptr;  // for grpc.health.v1; null where it is not served
};

class Exchange;

struct Rpc {
  RpcRule rule;
  // The fields below are for unary rpcs on the completion queues. Others, with a `posted` of 0, are
  // answered on gRPC's own threads, by Admin's service or by gRPC itself.
  CallClass call_class{};
  int posted = 0;  // calls that wait for clients, on each queue
  std::unique_ptr<Exchange> (*make_exchange)() = nullptr;
  // Handlers::KeepsReportsUnrecorded says whether a call of it is recorded.
  bool may_be_unrecorded = false;

  // Whether it is one of Admin, whose lines in the log say more (CallRecord).
  constexpr bool is_admin() const { return rule.rpc.starts_with("bandana.v1.Admin/"); }
  // Whether it is an rpc of Admin that changes something.
  constexpr bool changes() const {
    return is_admin() && !method().starts_with("Get") && !method().starts_with("List");
  }
  // The rpc's name without its service.
  constexpr std::string_view method() const { return rule.rpc.substr(rule.rpc.find('/') + 1); }
};

// An rpc that is not listed is refused to everybody.
std::span<const Rpc> AllRpcs();
// The rpcs on the completion queues. They are the first of AllRpcs.
std::span<const Rpc> QueueRpcs();
// Where an rpc stands in QueueRpcs.
std::size_t QueueIndex(const Rpc& rpc);

// By package.Service/Method; nullptr: not listed.
const Rpc* FindRpc(std::string_view name);
// The rule that the gatekeeper applies; nullptr, which it refuses, for an rpc that is not listed.
const RpcRule* FindRule(std::string_view name);
// For names that stand in the code. Aborts when it is not listed.
const Rpc& RpcNamed(std::string_view name);

}  // namespace bandana::server
