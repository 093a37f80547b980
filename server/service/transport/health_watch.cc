#include "server/service/transport/health_watch.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "server/service/transport/retry_pause.h"

namespace bandana::server {
namespace {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

HealthCheckResponse::ServingStatus ToProto(Serving serving) {
  switch (serving) {
    case Serving::kServing:
      return HealthCheckResponse::SERVING;
    case Serving::kNotServing:
      return HealthCheckResponse::NOT_SERVING;
    case Serving::kUnknownService:
      break;
  }
  return HealthCheckResponse::SERVICE_UNKNOWN;
}

}  // namespace

// One watch. Deletes itself when gRPC has given back its last event. All members are guarded by
// HealthWatches::mutex_ once the call has started.
class HealthWatches::Watch {
 public:
  explicit Watch(HealthWatches& owner) : owner_(owner), writer_(&context_) {}

  void Post() {
    context_.AsyncNotifyWhenDone(static_cast<Event*>(&done_));
    owner_.service_.RequestWatch(&context_, &request_, &writer_, owner_.queue_.cq(),
                                 owner_.queue_.cq(), static_cast<Event*>(&started_));
  }

  void UpdateLocked() {
    if (busy_ || gone_ || finishing_) return;
    const HealthCheckResponse::ServingStatus status = ToProto(owner_.serving_(request_.service()));
    if (sent_ == status) return;
    sent_ = status;
    HealthCheckResponse response;
    response.set_status(status);
    busy_ = true;
    writer_.Write(response, static_cast<Event*>(&written_));
  }

  // Ends the call now, or when the operation under way is over.
  void FinishLocked(const grpc::Status& status) {
    if (finishing_) return;
    if (busy_) {
      ending_ = status;
      return;
    }
    finishing_ = true;
    writer_.Finish(status, static_cast<Event*>(&finished_));
  }

 private:
  using Handler = void (Watch::*)(bool ok);
  class Step final : public Event {
   public:
    Step(Watch& watch, Handler handler) : watch_(watch), handler_(handler) {}
    void Happened(bool ok) override { (watch_.*handler_)(ok); }

   private:
    Watch& watch_;
    const Handler handler_;
  };

  void OnStarted(bool ok) {
    if (!ok)
      return Delete();  // the server shut down; gRPC does not give back `done_` of a call that
                        // never was
    owner_.Post();
    std::lock_guard lock(owner_.mutex_);
    if (owner_.closed_)
      return FinishLocked(grpc::Status(grpc::StatusCode::UNAVAILABLE, "server is shutting down"));
    if (owner_.open_.size() >= static_cast<std::size_t>(owner_.options_.watches_max)) {
      context_.AddTrailingMetadata(kPushbackKey, PushbackText(absl::Seconds(1)));
      return FinishLocked(
          grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "too many health watches"));
    }
    owner_.open_.push_back(this);
    UpdateLocked();
    owner_.ArmLocked();
  }

  void OnWritten(bool ok) {
    std::lock_guard lock(owner_.mutex_);
    busy_ = false;
    if (ending_.has_value()) {
      FinishLocked(*ending_);
    } else if (!ok) {
      FinishLocked(grpc::Status::CANCELLED);
    } else {
      UpdateLocked();
    }
  }

  // The client left, or our Finish reached it.
  void OnDone(bool) {
    bool last = false;
    {
      std::lock_guard lock(owner_.mutex_);
      gone_ = true;
      owner_.open_.remove(this);
      FinishLocked(grpc::Status::CANCELLED);
      last = ended_;
    }
    if (last) Delete();
  }

  void OnFinished(bool) {
    bool last = false;
    {
      std::lock_guard lock(owner_.mutex_);
      ended_ = true;
      owner_.open_.remove(this);
      last = gone_;
    }
    if (last) Delete();
  }

  void Delete() {
    TransportState& state = owner_.queue_.state();
    delete this;
    state.objects.fetch_sub(1, std::memory_order_release);
  }

  HealthWatches& owner_;
  grpc::ServerContext context_;
  HealthCheckRequest request_;
  grpc::ServerAsyncWriter<HealthCheckResponse> writer_;
  Step started_{*this, &Watch::OnStarted};
  Step written_{*this, &Watch::OnWritten};
  Step done_{*this, &Watch::OnDone};
  Step finished_{*this, &Watch::OnFinished};

  std::optional<HealthCheckResponse::ServingStatus> sent_;
  std::optional<grpc::Status> ending_;  // what to finish with after the Write under way
  bool busy_ = false;                   // a Write is under way
  bool finishing_ = false;              // Finish was started
  bool ended_ = false;                  // Finish came back
  bool gone_ = false;                   // the call is over for the client
};

class HealthWatches::Tick final : public Event {
 public:
  explicit Tick(HealthWatches& owner) : owner_(owner) {}
  void Happened(bool ok) override { owner_.OnTick(ok); }

 private:
  HealthWatches& owner_;
};

HealthWatches::HealthWatches(const Options& options, HealthService& service,
                             const ServingQuery& serving, Queue& queue)
    : options_(options),
      service_(service),
      serving_(serving),
      queue_(queue),
      tick_(std::make_unique<Tick>(*this)) {}

HealthWatches::~HealthWatches() = default;

void HealthWatches::Start() { Post(); }

void HealthWatches::Post() {
  if (queue_.state().stopping.load(std::memory_order_relaxed)) return;
  queue_.state().objects.fetch_add(1, std::memory_order_relaxed);
  (new Watch(*this))->Post();
}

void HealthWatches::Refresh() {
  std::lock_guard lock(mutex_);
  if (closed_) return;
  for (Watch* watch : open_) watch->UpdateLocked();
}

void HealthWatches::Close() {
  std::lock_guard lock(mutex_);
  closed_ = true;
  alarm_.Cancel();
  for (Watch* watch : open_) {
    watch->FinishLocked(grpc::Status(grpc::StatusCode::UNAVAILABLE, "server is shutting down"));
  }
}

void HealthWatches::ArmLocked() {
  if (armed_ || closed_ || open_.empty()) return;
  armed_ = true;
  queue_.state().objects.fetch_add(1, std::memory_order_relaxed);
  alarm_.Set(queue_.cq(),
             std::chrono::system_clock::now() + absl::ToChronoMicroseconds(options_.interval),
             static_cast<Event*>(tick_.get()));
}

void HealthWatches::OnTick(bool) {
  Refresh();
  {
    std::lock_guard lock(mutex_);
    armed_ = false;
    ArmLocked();
  }
  queue_.state().objects.fetch_sub(1, std::memory_order_release);
}

}  // namespace bandana::server
