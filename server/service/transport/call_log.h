// The record of one call that may be written, and the names by which its caller finds it again.
//
// This file is the whole of it: a line about a call is made of a CallRecord, whose fields are
// numbers, enumerators, names that the operator configured, and hexadecimal digits. The text of an
// error is not among them: it may quote what the caller sent. Nothing of a request or an answer is
// a parameter of anything here, except the model's name in calls of Admin.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/time/time.h"

namespace grpc {
class ServerContextBase;
}

namespace bandana::server {

// Trailing metadata of a failed call: the name of its line in the log.
inline constexpr char kRequestIdKey[] = "request-id";
// A call that takes longer has a line although it is answered OK.
inline constexpr absl::Duration kSlowCall = absl::Seconds(1);

// Who has to look at a failed call.
enum class Fault {
  kNone,    // OK, or refused as it should be: credentials, rates, load. Metrics count them
  kCaller,  // the request was wrong
  kServer   // the server could not do what it should
};
// `status_code` is a grpc::StatusCode.
Fault FaultOf(int status_code);

// Whether a call has a line. The hot path asks nothing else about calls that succeed.
inline bool HasLine(int status_code, absl::Duration duration, absl::Duration slow = kSlowCall) {
  return (status_code != 0 && FaultOf(status_code) != Fault::kNone) || duration >= slow;
}

struct CallRecord {
  bool admin = false;       // of bandana.v1.Admin, else of Recommender or health
  std::string_view method;  // without its service
  std::string caller;       // the name of a configured principal, or anonymous
  std::string model;        // Admin's: as the caller named it, printable and cut; else empty
  int status_code = 0;      // a grpc::StatusCode
  absl::Duration duration;  // from taking the call in to its answer
  std::string request_id;   // 16 hexadecimal digits, drawn here
  std::string trace_id;     // 32 of the caller's choice; empty: none came
  std::string parent_id;    // 16 of the caller's choice, its span; empty as well
};

// 16 random hexadecimal digits; zeros when the system generator fails: no call fails for its name.
std::string NewRequestId();

// A caller's place in a trace (W3C `traceparent`).
struct TraceParent {
  std::string trace_id;   // 32 lower-case hexadecimal digits; empty: there is none
  std::string parent_id;  // 16: the caller's span
  bool sampled = false;   // the caller asks for spans
};
// The call's; nothing in it when there is none, or it is malformed. gRPC 1.51 keeps
// `grpc-trace-bin` to itself.
TraceParent TraceParentOf(const grpc::ServerContextBase& context);
// From the header's value; a pure function.
TraceParent ParseTraceparent(std::string_view value);

// Threads: Write is called by every thread that answers calls, must be safe and must not block.
class CallLog {
 public:
  virtual ~CallLog() = default;
  // A call with a line (HasLine), or a change by Admin.
  virtual void Write(const CallRecord& record) = 0;
  // A call that takes so long has a line although it is answered OK.
  virtual absl::Duration slow() const { return kSlowCall; }
};

}  // namespace bandana::server
