// Unary calls on asynchronous completion queues. Internal to GrpcServer.
//
// A call has two states that matter: waiting for a client (posted), and being answered. It is never
// told about cancellations (no AsyncNotifyWhenDone): an answer to a client that left is dropped by
// gRPC. Each admitted call is answered by exactly one Finish, and its object is reused after gRPC
// gave the Finish back. A client that does not read its answer keeps nothing but that object and
// the answer's bytes, both bounded: a call counts as in flight until it is answered, answers that
// wait for their readers may hold kUnsentBytesMax together, and after a while they are dropped.
#pragma once

#include <grpcpp/grpcpp.h>
#include <grpcpp/support/async_unary_call.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "common/base/limits.h"
#include "server/service/connections/acceptor.h"
#include "server/service/transport/aside.h"
#include "server/service/transport/taken_call.h"

namespace bandana::server {

// An event that a completion queue gives back.
class Event {
 public:
  virtual void Happened(bool ok) = 0;

 protected:
  ~Event() = default;
};

class UnaryCall;

// Calls whose handler will finish later. Whoever takes a call out answers it; so a Finish that
// comes after the server gave up, or even after it is gone, finds nothing. Threads: safe.
class PendingCalls {
 public:
  // The ticket to take it with; 0 when closed.
  std::uint64_t Add(UnaryCall* call);
  // nullptr when it was taken before.
  UnaryCall* Take(std::uint64_t ticket);
  // Takes all of them and closes.
  std::vector<UnaryCall*> Close();

 private:
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, UnaryCall*> calls_;
  std::uint64_t next_ = 1;
  bool closed_ = false;
};

// For answers that their clients do not read.
struct UnreadLimits {
  std::int64_t bytes_max = kUnsentBytesMax;     // of all of them
  absl::Duration time_max = absl::Seconds(10);  // of each
  absl::Duration time_max_pressed =
      absl::Seconds(1);  // while they hold more than half of bytes_max
};

// Told what calls do, by ServerContext::peer.
using ConductSink = std::function<void(const std::string& peer, Conduct conduct)>;

// The state that all queues and calls of a server share.
struct TransportState {
  CallDesk desk;
  const UnreadLimits unread;
  const ConductSink conduct;
  const bool tells_all;  // `conduct` also hears of calls that are not at fault
  const std::shared_ptr<PendingCalls> pending = std::make_shared<PendingCalls>();
  std::atomic<bool> stopping{false};          // no call is posted anew
  std::atomic<std::int64_t> objects{0};       // call objects that gRPC will still give back
  std::atomic<std::int64_t> unsent_bytes{0};  // of answers that gRPC has not passed on
};

// Decodes a request, runs its handler, and answers the call, at once or later. One per rpc and
// queue, so it may reuse its messages.
class Work {
 public:
  virtual ~Work() = default;
  virtual void Run(UnaryCall& call, grpc::ByteBuffer& request) = 0;
};

using Responder = grpc::ServerAsyncResponseWriter<grpc::ByteBuffer>;

class Queue;

using PortRequest = std::function<void(grpc::ServerContext*, grpc::ByteBuffer*, Responder*,
                                       grpc::ServerCompletionQueue*, void*)>;

// One rpc on one queue.
struct Port {
  const Rpc& rpc;
  PortRequest request;  // waits for a call of it
  std::unique_ptr<Work> work;
  std::vector<std::unique_ptr<UnaryCall>> idle;  // touched by the queue's thread only
};

class UnaryCall final : public Event {
 public:
  UnaryCall(Queue& queue, Port& port) : queue_(queue), port_(port) {}

  // Waits for a client. Requires that it is new or released.
  void Post();
  // Lets go of a call that is over. As long as it is held, so is its connection: gRPC closes the
  // socket of a peer that is gone, or that was shut out, only after the last of its calls.
  void Release();
  void Happened(bool ok) override;
  // Does the work of a call that was taken in. Queue thread.
  void Run(std::chrono::steady_clock::time_point now);
  // The call has named its model and policy.
  void ModelKnown(std::string_view model, std::string_view policy_hash) {
    taken_.ModelKnown(model, policy_hash);
  }
  // Answers, once. Any thread. Afterwards the object may be gone.
  void Finish(const absl::Status& status, const grpc::ByteBuffer* response);
  // Whether the caller may name this model. Errors: PERMISSION_DENIED.
  absl::Status AllowModel(std::string_view model) const { return AuthorizeModel(caller(), model); }
  // "" for a caller that is no principal.
  std::string_view caller_name() const {
    return caller().principal == nullptr ? std::string_view() : caller().principal->name;
  }
  // null: the caller may make any number of users known.
  NewUserQuota* new_users() const { return caller().new_users; }
  // Drops an answer that was not read within `patience`. Queue thread.
  void DropIfUnread(std::chrono::steady_clock::time_point now,
                    std::chrono::steady_clock::duration patience);

  // The peer of a call that gRPC has handed over and not yet taken back; else empty. Queue thread.
  std::string Peer() const;

  TransportState& state();

 private:
  enum class Stage { kIdle, kPosted, kTakenIn, kFinishing };

  const Caller& caller() const { return taken_.caller(); }
  void TakeIn();
  // True when it was refused.
  bool TooLarge();
  // False when it was refused.
  bool Admitted();
  void Refuse(grpc::StatusCode code, const std::string& message, const std::string& pushback_ms);
  void Send(const grpc::Status& status, const grpc::ByteBuffer* response);

  Queue& queue_;
  Port& port_;
  // Its release and acquire order the threads that touch the call; gRPC orders them too, but inside
  // the library.
  std::atomic<Stage> stage_{Stage::kIdle};
  friend class Queue;
  TakenCall taken_;
  std::size_t slot_ = 0;           // in Queue::live_
  std::int64_t unsent_bytes_ = 0;  // of its answer
  std::chrono::steady_clock::time_point sent_;
  std::optional<grpc::ServerContext> context_;
  std::optional<Responder> responder_;
  grpc::ByteBuffer request_;
};

// A completion queue, its thread, and the calls on it.
class Queue {
 public:
  // `aside`: it is waited for as LooksAside says.
  Queue(TransportState& state, std::unique_ptr<grpc::ServerCompletionQueue> cq, bool aside)
      : state_(state), cq_(std::move(cq)), aside_(aside) {}
  ~Queue();

  // After the server was built: posts every port's calls and starts the thread.
  void Start(std::vector<Port> ports);
  // After TransportState::objects became 0: ends the thread.
  void Stop();

  TransportState& state() { return state_; }
  grpc::ServerCompletionQueue* cq() { return cq_.get(); }

  // Whether its thread has been inside gRPC for kHeldTimeMax, where it may wait for kWaitMax at
  // most. Any thread.
  bool Held(std::chrono::steady_clock::time_point now) const;

  // Queue thread only.
  void PostOne(Port& port);
  void AddToBacklog(UnaryCall* call, CallClass call_class) {
    backlog_[static_cast<std::size_t>(call_class)].push_back(call);
  }
  void Recycle(UnaryCall* call, Port& port);

 private:
  void Loop();
  // The next event, which happens, or its absence at `deadline`.
  template <class Deadline>
  grpc::CompletionQueue::NextStatus Next(const Deadline& deadline);
  // For the next event, when there is nothing else to do.
  grpc::CompletionQueue::NextStatus Wait();
  void TakeInArrivals(bool idle);
  // Runs what was admitted, for a slice of time; false when there is more.
  bool RunBacklog();
  void DropUnread();
  void ReportFloods();

  TransportState& state_;
  std::unique_ptr<grpc::ServerCompletionQueue> cq_;
  const bool aside_;
  LooksAside looks_;  // of the queue's thread
  std::vector<Port> ports_;
  std::array<std::deque<UnaryCall*>, kCallClasses> backlog_;  // admitted, not yet run; by class
  std::vector<UnaryCall*> live_;                              // all that gRPC holds
  std::chrono::steady_clock::time_point next_drop_{};
  std::chrono::steady_clock::time_point next_flood_look_{};
  std::atomic<std::chrono::steady_clock::rep> entered_ = 0;  // gRPC, when; 0: not inside
  std::thread thread_;
};

}  // namespace bandana::server
