#include "server/service/transport/transport.h"

#include <grpcpp/support/proto_buffer_reader.h>

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

#include "common/base/check.h"
#include "common/base/status.h"
#include "server/service/transport/error_text.h"

namespace bandana::server {
namespace {

constexpr std::chrono::seconds kDropInterval(1);
// A thread that waits this long for events is idle, not stuck. Must stay well below kHeldTimeMax.
constexpr std::chrono::milliseconds kWaitMax(50);
// Calls are run so long before the queue looks for arrivals again: what it cannot serve is refused
// soon, and selections that arrive meanwhile come before reports that wait.
constexpr std::chrono::microseconds kSlice(2000);
// A client that keeps to HTTP/2 has kStreamsPerConnectionMax calls open on a connection at most;
// gRPC 1.51 does not hold those to it that never acknowledge its settings.
constexpr int kFloodStreams = 4 * kStreamsPerConnectionMax;
constexpr std::size_t kFloodLookMin = 2048;  // calls that gRPC holds, waiting ones included
constexpr std::size_t kFloodLookMax = 4096;  // of the newest
constexpr std::chrono::milliseconds kFloodInterval(20);
constexpr int kEmptyLooks = 16;  // in a row; about 3 us each

constexpr char kTooManyUnread[] = "too many answers wait for their readers";

bool Parse(grpc::ByteBuffer& bytes, google::protobuf::Message& message) {
  grpc::Slice slice;
  if (bytes.TrySingleSlice(&slice).ok()) {
    return message.ParseFromArray(slice.begin(), static_cast<int>(slice.size()));
  }
  grpc::ProtoBufferReader reader(&bytes);
  return reader.status().ok() && message.ParseFromZeroCopyStream(&reader);
}

// One slice of the exact size: gRPC's own serializer grows a buffer block by block.
grpc::ByteBuffer Serialize(const google::protobuf::Message& message) {
  const std::size_t size = message.ByteSizeLong();
  grpc::Slice slice(size);
  message.SerializeWithCachedSizesToArray(const_cast<std::uint8_t*>(slice.begin()));
  return grpc::ByteBuffer(&slice, 1);
}

google::protobuf::ArenaOptions OptionsOf(std::array<char, 64 * 1024>& block) {
  google::protobuf::ArenaOptions options;
  options.initial_block = block.data();
  options.initial_block_size = block.size();
  return options;
}

}  // namespace

Queue::RequestArena::RequestArena()
    : block(std::make_unique<std::array<char, 64 * 1024>>()), arena(OptionsOf(*block)) {}

TransportState& UnaryCall::state() { return queue_.state(); }

void UnaryCall::Post() {
  context_.emplace();
  responder_.emplace(&*context_);
  stage_.store(Stage::kPosted, std::memory_order_release);
  port_.request(&*context_, &request_, &*responder_, queue_.cq(), static_cast<Event*>(this));
}

void UnaryCall::Release() {
  exchange_.reset();
  responder_.reset();
  context_.reset();
  request_.Clear();
}

void UnaryCall::Happened(bool ok) {
  const Stage stage = stage_.load(std::memory_order_acquire);
  if (stage == Stage::kPosted && ok) {
    if (!state().stopping.load(std::memory_order_relaxed)) queue_.PostOne(port_);
    TakeIn();
    return;
  }
  // Answered (ok or not: a client that left is no concern of ours), or posted when the server shut
  // down.
  BANDANA_CHECK(stage == Stage::kFinishing || stage == Stage::kPosted);
  state().unsent_bytes.fetch_sub(std::exchange(unsent_bytes_, 0), std::memory_order_relaxed);
  queue_.Recycle(this, port_);
}

void UnaryCall::TakeIn() {
  stage_.store(Stage::kTakenIn, std::memory_order_relaxed);
  taken_.TakeIn(state().desk, port_.rpc, "", *this);
  if (TooLarge()) return;
  if (port_.rpc.rule.scope != Scope::kOpen) {
    if (absl::Status admitted = taken_.Admit(*context_); !admitted.ok()) return Answer(admitted);
  }
  queue_.AddToBacklog(this, port_.rpc.call_class);
}

bool UnaryCall::TooLarge() {
  const std::size_t bytes = request_.Length();
  if (bytes <= std::size_t{kHotMessageBytesMax}) return false;
  state().desk.options.conduct(Peer(), bytes <= std::size_t{kAdminMessageBytesMax}
                                           ? Conduct::kRefused
                                           : Conduct::kMuchTooLarge);
  Answer(absl::ResourceExhaustedError(
             absl::StrCat("request is larger than ", kHotMessageBytesMax, " bytes")),
         kNeverAgain);
  return true;
}

void UnaryCall::Run(std::chrono::steady_clock::time_point now) {
  taken_.Started(now);
  if (context_->deadline() <= std::chrono::system_clock::now()) {
    return Answer(absl::DeadlineExceededError("deadline passed before the call was looked at"));
  }
  exchange_ = queue_.ExchangeFor(port_);
  google::protobuf::Message& request = exchange_->request();
  if (!Parse(request_, request)) {
    return Answer(InvalidArgument("request: not a ", request.GetDescriptor()->full_name()));
  }
  taken_.Run(exchange_, state().callees, [this](const absl::Status& status) { Answer(status); });
}

void UnaryCall::DropIfUnread(std::chrono::steady_clock::time_point now,
                             std::chrono::steady_clock::duration patience) {
  if (stage_.load(std::memory_order_acquire) != Stage::kFinishing) return;
  if (now - taken_.ended() > patience) context_->TryCancel();
}

std::string UnaryCall::Peer() const {
  const Stage stage = stage_.load(std::memory_order_acquire);
  return stage == Stage::kTakenIn || stage == Stage::kFinishing ? context_->peer() : "";
}

TraceParent UnaryCall::Trace() const { return TraceParentOf(*context_); }

bool UnaryCall::Encode(grpc::ByteBuffer& bytes) {
  grpc::ByteBuffer encoded = Serialize(exchange_->response());
  bytes.Swap(&encoded);
  const auto length = static_cast<std::int64_t>(bytes.Length());
  if (state().unsent_bytes.fetch_add(length, std::memory_order_relaxed) + length <=
      state().unread.bytes_max) {
    unsent_bytes_ = length;
    return true;
  }
  state().unsent_bytes.fetch_sub(length, std::memory_order_relaxed);
  return false;
}

void UnaryCall::Answer(absl::Status status, absl::Duration retry_after) {
  grpc::ByteBuffer bytes;
  if (status.ok() && !Encode(bytes)) status = absl::ResourceExhaustedError(kTooManyUnread);
  exchange_.reset();
  const CallEnd end = taken_.End(status, retry_after);
  if (end.retry_after > absl::ZeroDuration()) {
    context_->AddTrailingMetadata(kPushbackKey, PushbackText(end.retry_after));
  }
  if (!end.request_id.empty()) context_->AddTrailingMetadata(kRequestIdKey, end.request_id);
  stage_.store(Stage::kFinishing, std::memory_order_release);
  if (status.ok()) {
    responder_->Finish(bytes, grpc::Status::OK, static_cast<Event*>(this));
  } else {
    responder_->FinishWithError(ToGrpc(status), static_cast<Event*>(this));
  }
}

Queue::~Queue() { Stop(); }

void Queue::Start(std::vector<Port> ports) {
  ports_ = std::move(ports);
  for (Port& port : ports_) {
    for (int i = 0; i < port.rpc.posted; ++i) PostOne(port);
  }
  thread_ = std::thread([this] { Loop(); });
}

void Queue::Stop() {
  cq_->Shutdown();
  if (thread_.joinable()) {
    thread_.join();
    return;
  }
  void* tag = nullptr;
  bool ok = false;
  while (cq_->Next(&tag, &ok)) static_cast<Event*>(tag)->Happened(ok);
}

void Queue::PostOne(Port& port) {
  state_.objects.fetch_add(1, std::memory_order_relaxed);
  std::unique_ptr<UnaryCall> call;
  if (port.idle.empty()) {
    call = std::make_unique<UnaryCall>(*this, port);
  } else {
    call = std::move(port.idle.back());
    port.idle.pop_back();
  }
  call->slot_ = live_.size();
  live_.push_back(call.get());
  call.release()->Post();  // gRPC holds it until it comes back to Recycle
}

void Queue::Recycle(UnaryCall* call, Port& port) {
  std::unique_ptr<UnaryCall> owned(call);
  live_[call->slot_] = live_.back();
  live_[call->slot_]->slot_ = call->slot_;
  live_.pop_back();
  if (port.idle.size() < static_cast<std::size_t>(port.rpc.posted)) {
    owned->Release();
    port.idle.push_back(std::move(owned));
  }
  state_.objects.fetch_sub(1, std::memory_order_release);
}

std::shared_ptr<Exchange> Queue::ExchangeFor(Port& port) {
  if (!port.reusable->answers_at_once()) return port.rpc.make_exchange();
  requests_.arena.Reset();
  port.reusable->Renew(requests_.arena);
  return port.reusable;
}

bool Queue::RunBacklog() {
  auto now = std::chrono::steady_clock::now();
  const auto end = now + kSlice;
  for (auto& calls : backlog_) {
    while (!calls.empty()) {
      UnaryCall* const call = calls.front();
      calls.pop_front();
      call->Run(now);
      now = std::chrono::steady_clock::now();
      if (now >= end) return std::ranges::all_of(backlog_, [](const auto& c) { return c.empty(); });
    }
  }
  return true;
}

void Queue::DropUnread() {
  const auto now = std::chrono::steady_clock::now();
  if (now < next_drop_) return;
  next_drop_ = now + kDropInterval;
  const UnreadLimits& limits = state_.unread;
  const bool pressed = state_.unsent_bytes.load(std::memory_order_relaxed) > limits.bytes_max / 2;
  const auto patience = absl::ToChronoNanoseconds(
      pressed ? std::min(limits.time_max_pressed, limits.time_max) : limits.time_max);
  for (UnaryCall* call : live_) call->DropIfUnread(now, patience);
}

// Only where many calls are open; each looked at costs 0.4 us.
void Queue::ReportFloods() {
  if (live_.size() < kFloodLookMin) return;
  const auto now = std::chrono::steady_clock::now();
  if (now < next_flood_look_) return;
  next_flood_look_ = now + kFloodInterval;
  std::unordered_map<std::string, int> streams;
  const std::size_t oldest = live_.size() - std::min(live_.size(), kFloodLookMax);
  for (std::size_t i = live_.size(); i > oldest; --i) {
    const std::string peer = live_[i - 1]->Peer();
    if (!peer.empty() && ++streams[peer] == kFloodStreams) {
      state_.desk.options.conduct(peer, Conduct::kTooManyStreams);
    }
  }
}

bool Queue::Held(std::chrono::steady_clock::time_point now) const {
  const auto entered = entered_.load(std::memory_order_relaxed);
  return entered != 0 &&
         now.time_since_epoch().count() - entered > absl::ToChronoNanoseconds(kHeldTimeMax).count();
}

template <class Deadline>
grpc::CompletionQueue::NextStatus Queue::Next(const Deadline& deadline) {
  void* tag = nullptr;
  bool ok = false;
  entered_.store(std::chrono::steady_clock::now().time_since_epoch().count(),
                 std::memory_order_relaxed);
  const auto status = cq_->AsyncNext(&tag, &ok, deadline);
  entered_.store(0, std::memory_order_relaxed);
  if (status == grpc::CompletionQueue::GOT_EVENT) static_cast<Event*>(tag)->Happened(ok);
  return status;
}

grpc::CompletionQueue::NextStatus Queue::Wait() {
  if (!aside_) return Next(std::chrono::system_clock::now() + kWaitMax);
  const auto status = Next(gpr_inf_past(GPR_CLOCK_MONOTONIC));
  if (status == grpc::CompletionQueue::GOT_EVENT) looks_.Found();
  if (status == grpc::CompletionQueue::TIMEOUT) looks_.Wait();
  return status;
}

// Takes in what has arrived before it starts on any of it. Otherwise calls would wait inside gRPC,
// where they cannot be counted, and an overloaded server could not refuse what it will not get to,
// nor run selections before reports. One look handles one socket, and may give no call although
// others have some: while there is more to do than time it looks again, but for a fifth of the time
// at most, or refusing would leave none for serving and for dropping what nobody reads.
void Queue::TakeInArrivals(bool idle) {
  const auto end = std::chrono::steady_clock::now() + kSlice / 4;
  for (int empty = 0; empty < (idle ? 1 : kEmptyLooks);) {
    if (Next(gpr_inf_past(GPR_CLOCK_MONOTONIC)) == grpc::CompletionQueue::GOT_EVENT) {
      empty = 0;
    } else {
      ++empty;
    }
    if (std::chrono::steady_clock::now() >= end) return;
  }
}

void Queue::Loop() {
  bool idle = true;
  for (;;) {
    const auto status = idle ? Wait() : Next(gpr_inf_past(GPR_CLOCK_MONOTONIC));
    if (status == grpc::CompletionQueue::SHUTDOWN) return;
    TakeInArrivals(idle);
    idle = RunBacklog();
    DropUnread();
    ReportFloods();
  }
}

}  // namespace bandana::server
