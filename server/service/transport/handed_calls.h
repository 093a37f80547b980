// Calls that one listener of this process takes and another one's service answers: who really
// calls.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "server/service/access/access.h"
#include "server/service/transport/call_log.h"

namespace bandana::server {

// Metadata of a call that was handed over: its ticket.
inline constexpr char kHandedCallKey[] = "bandana-handed-call";

// The caller, as the listener that took the call knows it.
struct HandedCaller {
  std::vector<std::string> authorization;  // every value
  std::vector<std::string> subjects;       // of a certificate that TLS has verified
  std::string peer;                        // as gRPC names it
  TraceParent trace;                       // ParseTraceparent

  // Views into this.
  Credentials credentials() const;
};

// A ticket is drawn at random and counts while its call is open, so that no call from outside can
// stand for another caller. Threads: safe.
class HandedCalls {
 public:
  // Stands for one call, and counts until it is destroyed, before the calls.
  class Ticket {
   public:
    ~Ticket() { calls_.Take(text_); }
    Ticket(const Ticket&) = delete;
    Ticket& operator=(const Ticket&) = delete;
    const std::string& text() const { return text_; }

   private:
    friend class HandedCalls;
    Ticket(HandedCalls& calls, std::string text) : calls_(calls), text_(std::move(text)) {}

    HandedCalls& calls_;
    const std::string text_;
  };

  // Errors: UNAVAILABLE the random generator failed.
  absl::StatusOr<std::unique_ptr<Ticket>> Hand(HandedCaller caller);
  // Null: nobody has such a ticket.
  std::shared_ptr<const HandedCaller> Find(std::string_view ticket) const;

 private:
  void Take(const std::string& ticket);

  mutable std::mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<const HandedCaller>> callers_;
};

}  // namespace bandana::server
