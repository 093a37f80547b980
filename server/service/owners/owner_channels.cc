#include "server/service/owners/owner_channels.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <unordered_set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "bandana/internal/peer.grpc.pb.h"
#include "bandana/v1/recommender.grpc.pb.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "server/service/transport/aside.h"
#include "server/service/transport/channel_time.h"

namespace bandana::server {
namespace {

// Owners move when they are started anew; former addresses are not kept for ever.
constexpr std::size_t kAddressesMax = 64;

// A connection of its own: a stream that waits on one holds up no other.
std::shared_ptr<grpc::Channel> Connect(const std::string& address, const PeerIdentity& identity) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  // An owner that comes back is found soon.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, Millis(absl::Milliseconds(100)));
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, Millis(absl::Seconds(1)));
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, Millis(absl::Seconds(1)));
  // Servers let clients ask every 30 s.
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, Millis(absl::Seconds(40)));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, Millis(absl::Seconds(5)));
  arguments.SetMaxReceiveMessageSize(kReceivedMessageBytesMax);
  arguments.SetMaxSendMessageSize(-1);
  // Not whoever has the key, but the one whose address this is.
  arguments.SetSslTargetNameOverride(PeerNameOf(address));
  grpc::SslCredentialsOptions tls;
  tls.pem_root_certs = identity.authority_pem;
  tls.pem_private_key = identity.private_key_pem;
  tls.pem_cert_chain = identity.certificate_pem;
  return grpc::CreateCustomChannel(address, grpc::SslCredentials(tls), arguments);
}

// The stubs to one address.
struct PeerStubs {
  PeerStubs(const std::string& address, const PeerIdentity& identity)
      : channel(Connect(address, identity)),
        reports(v1::Recommender::NewStub(channel)),
        decisions(internal::Peer::NewStub(Connect(address, identity))),
        admin(v1::Admin::NewStub(Connect(address, identity))) {}
  const std::shared_ptr<grpc::Channel> channel;  // of reports
  const std::unique_ptr<v1::Recommender::Stub> reports;
  const std::unique_ptr<internal::Peer::Stub> decisions;
  const std::shared_ptr<v1::Admin::Stub> admin;
};

// A call on its way.
struct Call {
  virtual ~Call() = default;
  // The answer is there, or there will be none.
  virtual void Done() = 0;
  std::string waits_for;  // the address of the owner that a caller waits for; empty: nobody waits
  grpc::ClientContext context;
  grpc::Status status;
};

template <typename Response>
struct ForwardedCall final : Call {
  ForwardedCall(const std::string& owner, Response& into, Finish then)
      : response(into), finish(std::move(then)) {
    waits_for = owner;
  }
  void Done() override { finish(OwnerChannels::StatusOf(status)); }
  Response& response;
  const Finish finish;
  std::unique_ptr<grpc::ClientAsyncResponseReader<Response>> reader;
};

struct RecordCall final : Call {
  explicit RecordCall(std::atomic<int>& on_their_way) : count(on_their_way) {}
  void Done() override { count.fetch_sub(1); }
  std::atomic<int>& count;
  internal::RecordResponse response;
  std::unique_ptr<grpc::ClientAsyncResponseReader<internal::RecordResponse>> reader;
};

}  // namespace

class OwnerChannels::Body {
 public:
  explicit Body(Options options) : options_(std::move(options)) {}

  ~Body() {
    {
      const std::lock_guard lock(mutex_);
      for (Call* call : calls_) call->context.TryCancel();
    }
    queue_.Shutdown();
    thread_.join();  // after the last answer
  }

  const Options& options() const { return options_; }

  std::shared_ptr<PeerStubs> StubsOf(const std::string& address) {
    const std::lock_guard lock(mutex_);
    const auto found = stubs_.find(address);
    if (found != stubs_.end()) return found->second;
    if (stubs_.size() >= kAddressesMax) stubs_.clear();
    return stubs_.emplace(address, std::make_shared<PeerStubs>(address, options_.identity))
        .first->second;
  }

  // Makes a call of a new one: `prepare` gives its reader. All under the mutex, which the queue's
  // thread takes before it frees the call: it may be answered before Finish has returned.
  template <typename Made, typename Prepare>
  void Start(std::unique_ptr<Made> call, Prepare prepare) {
    call->context.set_deadline(absl::ToChronoTime(absl::Now() + options_.patience));
    const std::lock_guard lock(mutex_);
    call->reader = prepare(&call->context, &queue_);
    Made* const made = call.release();  // the queue's thread frees it
    calls_.insert(made);
    made->reader->StartCall();
    made->reader->Finish(&made->response, &made->status, static_cast<Call*>(made));
  }

  template <typename Request, typename Response, typename Prepare>
  void Hand(const std::string& owner, const Request& request, Response& response, Finish finish,
            Prepare prepare) {
    if (owner.empty()) return finish(OwnerAway());
    const std::shared_ptr<PeerStubs> stubs = StubsOf(owner);
    Start(std::make_unique<ForwardedCall<Response>>(owner, response, std::move(finish)),
          [&](grpc::ClientContext* context, grpc::CompletionQueue* queue) {
            return (stubs->reports.get()->*prepare)(context, request, queue);
          });
  }

  void GiveUp(const std::string& owner) {
    const std::lock_guard lock(mutex_);
    for (Call* const call : calls_) {
      if (call->waits_for == owner) call->context.TryCancel();
    }
  }

  void Record(const std::string& owner, const internal::RecordRequest& request) {
    if (owner.empty()) return;
    if (decisions_.fetch_add(1) >= options_.decisions_max) {
      decisions_.fetch_sub(1);
      return;
    }
    const std::shared_ptr<PeerStubs> stubs = StubsOf(owner);
    Start(std::make_unique<RecordCall>(decisions_),
          [&](grpc::ClientContext* context, grpc::CompletionQueue* queue) {
            return stubs->decisions->PrepareAsyncRecord(context, request, queue);
          });
  }

 private:
  void TakeAnswers() {
    void* tag = nullptr;
    bool ok = false;
    LooksAside looks;
    while (looks.Next(queue_, &tag, &ok)) {
      const std::unique_ptr<Call> call(static_cast<Call*>(tag));
      {
        const std::lock_guard lock(mutex_);
        calls_.erase(call.get());
      }
      call->Done();
    }
  }

  const Options options_;
  std::atomic<int> decisions_{0};
  std::mutex mutex_;  // guards what follows
  std::map<std::string, std::shared_ptr<PeerStubs>> stubs_;
  std::unordered_set<Call*> calls_;
  grpc::CompletionQueue queue_;
  std::thread thread_{[this] { TakeAnswers(); }};
};

OwnerChannels::OwnerChannels(Options options) : body_(std::make_unique<Body>(std::move(options))) {}
OwnerChannels::~OwnerChannels() = default;

void OwnerChannels::Hand(const std::string& owner, const v1::ReportRequest& request,
                         v1::ReportResponse& response, Finish finish) {
  body_->Hand(owner, request, response, std::move(finish),
              &v1::Recommender::Stub::PrepareAsyncReport);
}
void OwnerChannels::Hand(const std::string& owner, const v1::ActivateRequest& request,
                         v1::ActivateResponse& response, Finish finish) {
  body_->Hand(owner, request, response, std::move(finish),
              &v1::Recommender::Stub::PrepareAsyncActivate);
}
void OwnerChannels::Hand(const std::string& owner, const v1::SubmitRequest& request,
                         v1::SubmitResponse& response, Finish finish) {
  body_->Hand(owner, request, response, std::move(finish),
              &v1::Recommender::Stub::PrepareAsyncSubmit);
}

bool OwnerChannels::Reaches(const std::string& server) {
  return body_->StubsOf(server)->channel->GetState(/*try_to_connect=*/true) == GRPC_CHANNEL_READY;
}

void OwnerChannels::GiveUp(const std::string& owner) { body_->GiveUp(owner); }

void OwnerChannels::Record(const std::string& owner, const internal::RecordRequest& request) {
  body_->Record(owner, request);
}

namespace {

// Asks all at once, on a queue of its own. `ask` gives the reader of one call.
template <typename Response, typename Ask>
std::vector<Response> AskAll(std::span<const std::string> servers, absl::Duration patience,
                             Ask ask) {
  struct Asked {
    grpc::ClientContext context;
    grpc::Status status;
    Response response;
    std::unique_ptr<grpc::ClientAsyncResponseReader<Response>> reader;
  };
  const auto deadline = absl::ToChronoTime(absl::Now() + patience);
  grpc::CompletionQueue queue;
  std::deque<Asked> calls;
  for (const std::string& server : servers) {
    Asked& call = calls.emplace_back();
    call.context.set_deadline(deadline);
    call.reader = ask(server, &call.context, &queue);
    call.reader->Finish(&call.response, &call.status, &call);
  }
  void* tag = nullptr;
  bool ok = false;
  for (std::size_t i = 0; i < calls.size(); ++i) queue.Next(&tag, &ok);
  queue.Shutdown();
  while (queue.Next(&tag, &ok)) {
  }
  std::vector<Response> answers;
  for (Asked& call : calls) {
    if (call.status.ok()) answers.push_back(std::move(call.response));
  }
  return answers;
}

}  // namespace

std::vector<internal::StandResponse> OwnerChannels::Stand(std::span<const std::string> servers,
                                                          const internal::StandRequest& request) {
  return AskAll<internal::StandResponse>(
      servers, absl::Seconds(1),
      [&](const std::string& server, grpc::ClientContext* context, grpc::CompletionQueue* queue) {
        return body_->StubsOf(server)->decisions->AsyncStand(context, request, queue);
      });
}

std::vector<internal::PartResponse> OwnerChannels::Part(std::span<const std::string> servers,
                                                        const internal::PartRequest& request) {
  return AskAll<internal::PartResponse>(
      servers, absl::Seconds(10),
      [&](const std::string& server, grpc::ClientContext* context, grpc::CompletionQueue* queue) {
        return body_->StubsOf(server)->decisions->AsyncPart(context, request, queue);
      });
}

absl::Status OwnerChannels::Forget(const std::string& server,
                                   const internal::ForgetRequest& request) {
  const absl::Status failed = Unavailable(
      "another server has not forgotten what it answered these users; no user is deleted yet, try "
      "again");
  if (server.empty()) return failed;
  const std::shared_ptr<PeerStubs> stubs = body_->StubsOf(server);
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + body_->options().patience));
  internal::ForgetResponse response;
  const grpc::Status status = stubs->decisions->Forget(&context, request, &response);
  return status.ok() ? absl::OkStatus() : failed;
}

std::shared_ptr<v1::Admin::StubInterface> OwnerChannels::Admin(const std::string& owner) {
  return owner.empty() ? nullptr : body_->StubsOf(owner)->admin;
}

absl::Status OwnerChannels::StatusOf(const grpc::Status& status) {
  switch (status.error_code()) {
    case grpc::StatusCode::OK:
      return absl::OkStatus();
    // Errors of gRPC's own name addresses, and the reason why a key is wrong is no caller's
    // concern.
    case grpc::StatusCode::CANCELLED:
    case grpc::StatusCode::UNKNOWN:
    case grpc::StatusCode::DEADLINE_EXCEEDED:
    case grpc::StatusCode::PERMISSION_DENIED:
    case grpc::StatusCode::UNAUTHENTICATED:
    case grpc::StatusCode::UNIMPLEMENTED:
    case grpc::StatusCode::INTERNAL:
    case grpc::StatusCode::UNAVAILABLE:
      return OwnerAway();
    default:
      return {static_cast<absl::StatusCode>(status.error_code()), status.error_message()};
  }
}

absl::Status OwnerAway() { return Unavailable("the model's owner does not answer; try again"); }

}  // namespace bandana::server
