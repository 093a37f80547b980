// Unary calls on asynchronous completion queues. Internal to GrpcServer.
//
// A call has two states that matter: waiting for a client (posted), and being answered. It is never
// told about cancellations (no AsyncNotifyWhenDone): an answer to a client that left is dropped by
// gRPC. Each admitted call is answered by exactly one Finish, and its object is reused after gRPC
// gave the Finish back. A client that does not read its answer keeps nothing but that object and
// the answer's bytes, both bounded: a call counts as in flight until it is answered, answers that
// wait for their readers may hold kUnsentBytesMax together, and after a while they are dropped.
#pragma once

#include <google/protobuf/arena.h>
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
#include <optional>
#include <thread>
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

// For answers that their clients do not read.
struct UnreadLimits {
  std::int64_t bytes_max = kUnsentBytesMax;     // of all of them
  absl::Duration time_max = absl::Seconds(10);  // of each
  absl::Duration time_max_pressed =
      absl::Seconds(1);  // while they hold more than half of bytes_max
};

// The state that all queues and calls of a server share.
struct TransportState {
  CallDesk desk;
  const Callees callees;
  const UnreadLimits unread;
  std::atomic<bool> stopping{false};          // no call is posted anew
  std::atomic<std::int64_t> objects{0};       // call objects that gRPC will still give back
  std::atomic<std::int64_t> unsent_bytes{0};  // of answers that gRPC has not passed on
};

using Responder = grpc::ServerAsyncResponseWriter<grpc::ByteBuffer>;

class Queue;

using PortRequest = std::function<void(grpc::ServerContext*, grpc::ByteBuffer*, Responder*,
                                       grpc::ServerCompletionQueue*, void*)>;

// One rpc on one queue.
struct Port {
  const Rpc& rpc;
  PortRequest request;                 // waits for a call of it
  std::shared_ptr<Exchange> reusable;  // serves all its calls where the rpc answers at once
  std::vector<std::unique_ptr<UnaryCall>> idle;  // touched by the queue's thread only
};

class UnaryCall final : public Event, public CallOrigin {
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
  // Drops an answer that was not read within `patience`. Queue thread.
  void DropIfUnread(std::chrono::steady_clock::time_point now,
                    std::chrono::steady_clock::duration patience);

  // The peer of a call that gRPC has handed over and not yet taken back; else empty. Queue thread.
  std::string Peer() const override;
  TraceParent Trace() const override;

 private:
  enum class Stage { kIdle, kPosted, kTakenIn, kFinishing };

  TransportState& state();
  void TakeIn();
  // True when it was refused.
  bool TooLarge();
  // Once. Any thread. Afterwards the object may be gone. An error may be of the handler, or of what
  // comes before it; with OK the exchange has the response.
  void Answer(absl::Status status, absl::Duration retry_after = absl::ZeroDuration());
  // The response, if it may wait for its reader.
  bool Encode(grpc::ByteBuffer& bytes);

  Queue& queue_;
  Port& port_;
  // Its release and acquire order the threads that touch the call; gRPC orders them too, but inside
  // the library.
  std::atomic<Stage> stage_{Stage::kIdle};
  friend class Queue;
  TakenCall taken_;
  std::shared_ptr<Exchange> exchange_;  // while it runs
  std::size_t slot_ = 0;                // in Queue::live_
  std::int64_t unsent_bytes_ = 0;       // of its answer
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
  // For a call of the port that is about to run. Where the rpc answers at once, good until the next
  // of this queue.
  std::shared_ptr<Exchange> ExchangeFor(Port& port);

 private:
  // Where requests are parsed: named values are a hundred small messages, each of which would be
  // allocated and freed by itself.
  struct RequestArena {
    std::unique_ptr<std::array<char, 64 * 1024>> block;
    google::protobuf::Arena arena;
    RequestArena();
  };

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
  RequestArena requests_;
  std::vector<Port> ports_;
  std::array<std::deque<UnaryCall*>, kCallClasses> backlog_;  // admitted, not yet run; by class
  std::vector<UnaryCall*> live_;                              // all that gRPC holds
  std::chrono::steady_clock::time_point next_drop_{};
  std::chrono::steady_clock::time_point next_flood_look_{};
  std::atomic<std::chrono::steady_clock::rep> entered_ = 0;  // gRPC, when; 0: not inside
  std::thread thread_;
};

}  // namespace bandana::server
