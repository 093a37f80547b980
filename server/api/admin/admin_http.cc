#include "server/api/admin/admin_http.h"

#include <google/protobuf/descriptor.h>

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "bandana/v1/admin.pb.h"
#include "common/base/clock.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "server/api/admin/admin_call.h"
#include "server/api/admin/admin_routes.h"
#include "server/api/admin/admin_rows.h"
#include "server/api/answers.h"
#include "server/api/console/console.h"
#include "server/api/content.h"
#include "server/api/json_call.h"
#include "server/api/json_writer.h"
#include "server/api/origins.h"
#include "server/service/transport/call_log.h"

namespace bandana::server {
namespace {

using google::protobuf::Message;

// Messages of an upload are filled to about this.
constexpr std::size_t kMessageBytes = 1 << 20;
constexpr std::size_t kPartBytes = 64 << 10;
constexpr absl::Duration kLookAgain = absl::Milliseconds(1);

std::unique_ptr<Message> NewMessage(const google::protobuf::Descriptor& type) {
  return std::unique_ptr<Message>(
      google::protobuf::MessageFactory::generated_factory()->GetPrototype(&type)->New());
}

// The model that a request is about: its own field, or that of the configuration in it. Errors:
// INVALID_ARGUMENT the body names another than the path.
absl::Status NameModel(const std::string& model, Message& request) {
  std::string* name = nullptr;
  if (auto* const update = dynamic_cast<v1::UpdateModelRequest*>(&request); update != nullptr) {
    name = update->mutable_config()->mutable_name();
    if (!name->empty() && *name != model) {
      return InvalidArgument("config.name: must be the path's, ", model);
    }
    *name = model;
    return absl::OkStatus();
  }
  const auto* const field = request.GetDescriptor()->FindFieldByName("model");
  if (field == nullptr) return absl::OkStatus();
  const std::string said = request.GetReflection()->GetString(request, field);
  if (!said.empty() && said != model) return InvalidArgument("model: must be the path's, ", model);
  request.GetReflection()->SetString(&request, field, model);
  return absl::OkStatus();
}

// The form of rows that the caller names; nothing: none.
std::optional<RowText> AskedText(const HttpCall& http) {
  const std::string_view accept = http.Header("accept");
  const auto names = [&](std::string_view type) {
    return accept.find(type) != std::string_view::npos;
  };
  if (names("text/csv")) return RowText::kCsv;
  if (names("application/x-ndjson") || names("application/jsonl")) return RowText::kJsonLines;
  return std::nullopt;
}

HandedCaller CallerOf(const HttpCall& http) {
  HandedCaller caller{.peer = http.peer, .trace = ParseTraceparent(http.Header("traceparent"))};
  for (const HttpHeader& header : http.headers) {
    if (header.name == "authorization") caller.authorization.push_back(header.value);
  }
  caller.subjects = http.subjects;
  return caller;
}

// The parts of an answer whose call goes on while they are sent: Next waits on a thread of the
// pool.
class Parts final : public HttpParts {
 public:
  // Empty: the end.
  using Make = std::function<absl::StatusOr<std::string>()>;
  // False: no thread does anything any more.
  using Post = std::function<bool(std::function<void()>)>;

  Parts(Post post, Make make)
      : post_(std::move(post)), make_(std::make_shared<Make>(std::move(make))) {}
  void Next(Take take) override {
    if (!post_([make = make_, take] { take((*make)()); })) take(Unavailable("the server ends"));
  }

 private:
  const Post post_;
  const std::shared_ptr<Make> make_;
};

// Rows of a stream of messages, many to a part.
class RowParts {
 public:
  RowParts(std::shared_ptr<AdminCall> call, std::unique_ptr<Message> row, RowText text,
           std::string begun)
      : call_(std::move(call)), row_(std::move(row)), text_(text), begun_(std::move(begun)) {}

  absl::StatusOr<std::string> Next() {
    std::string part = std::exchange(begun_, "");
    while (!ended_ && part.size() < kPartBytes) {
      if (!call_->Read(*row_)) {
        ended_ = true;
        BANDANA_RETURN_IF_ERROR(call_->Finish().status);
        break;
      }
      BANDANA_ASSIGN_OR_RETURN(const std::string line, RowLine(*row_, text_));
      part += line;
    }
    return part;
  }

 private:
  const std::shared_ptr<AdminCall> call_;
  const std::unique_ptr<Message> row_;
  const RowText text_;
  std::string begun_;
  bool ended_ = false;
};

}  // namespace

class AdminHttp::Impl {
 public:
  Impl(AdminHttpOptions options, ConductSink conduct)
      : options_(std::move(options)),
        conduct_(std::move(conduct)),
        origins_({}, options_.listen, options_.tls),
        threads_(kAdminCallsMax) {}
  ~Impl() { Shutdown(absl::ZeroDuration()); }

  void Handle(HttpCall http, AnswerHttp answer) {
    if (IsOfConsole(http.path)) {
      const absl::Status refused = Refused(http);
      return answer(refused.ok() ? ConsoleAnswer(http, options_.recipes) : ErrorAnswer(refused));
    }
    const AdminRoute route = *FindAdminRoute(http.path);
    if (const absl::Status refused = Refused(http, route); !refused.ok()) {
      return answer(ErrorAnswer(refused));
    }
    if (const absl::Status coding = CheckCoding(http); !coding.ok()) {
      return answer(Unsupported(ErrorAnswer(coding)));
    }
    if (const bool reads = http.method == "GET" || http.method == "HEAD";
        !(reads && !route.of->rpc->changes()) && http.method != "POST") {
      HttpAnswer wrong = ErrorAnswer(
          absl::UnimplementedError(route.of->rpc->changes() ? "this path takes POST alone"
                                                            : "this path takes GET and POST"));
      wrong.status = 405;
      wrong.headers.push_back({"allow", route.of->rpc->changes() ? "POST" : "GET, HEAD, POST"});
      return answer(std::move(wrong));
    }
    const bool begun =
        Begin([this, http = std::make_shared<HttpCall>(std::move(http)), route, answer] {
          HttpAnswer out = Answer(*http, route);
          if (out.status == 401) conduct_(http->peer, Conduct::kRefused);
          answer(std::move(out));
          Leave();
        });
    if (!begun) answer(ErrorAnswer(Unavailable("the server is draining")));
  }

  std::size_t BodyBytesMax(const HttpCall& head, std::size_t usual) const {
    const std::optional<AdminRoute> route = FindAdminRoute(head.path);
    if (!route || route->of->sends == AdminForm::kMessage) return usual;
    return MayCall(head, *route).ok() ? std::max(usual, kBodyBytesMax) : usual;
  }

  HttpAnswer Refusal(int status, const HttpCall& head, std::size_t usual) const {
    if (status != 413) return RefusalAnswer(status);
    conduct_(head.peer, Conduct::kRefused);
    if (const auto route = FindAdminRoute(head.path)) {
      if (const absl::Status may = MayCall(head, *route); !may.ok()) return ErrorAnswer(may);
    }
    HttpAnswer answer = ErrorAnswer(absl::ResourceExhaustedError(
        absl::StrCat("request: the body is larger than ", BodyBytesMax(head, usual),
                     " bytes: send it in several calls, or by bandana-ctl")));
    answer.status = status;
    return answer;
  }

  void Shutdown(absl::Duration patience) {
    const absl::Time deadline = SteadyNow() + patience;
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    while (busy() && SteadyNow() < deadline) absl::SleepFor(kLookAgain);
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
      for (AdminCall* call : calls_) call->Cancel();
    }
    threads_.join();
  }

 private:
  // A call of the service that Shutdown can cancel.
  class Tracked {
   public:
    Tracked(Impl& impl, const Rpc& rpc, std::unique_ptr<HandedCalls::Ticket> ticket)
        : impl_(impl), call_(impl.options_.door.channel, rpc.rule.rpc, std::move(ticket)) {
      const std::lock_guard lock(impl_.mutex_);
      impl_.calls_.insert(&call_);
      if (impl_.ended_) call_.Cancel();
    }
    ~Tracked() {
      const std::lock_guard lock(impl_.mutex_);
      impl_.calls_.erase(&call_);
    }
    Tracked(const Tracked&) = delete;
    Tracked& operator=(const Tracked&) = delete;

    AdminCall& call() { return call_; }

   private:
    Impl& impl_;
    AdminCall call_;
  };

  // On a thread of the pool, until its Leave. False: no call begins any more.
  bool Begin(std::function<void()> work) {
    const std::lock_guard lock(mutex_);
    if (closed_) return false;
    ++running_;
    boost::asio::post(threads_, std::move(work));
    return true;
  }
  void Leave() {
    const std::lock_guard lock(mutex_);
    --running_;
  }
  // For a call that goes on. False: none does any more.
  bool Post(std::function<void()> work) {
    const std::lock_guard lock(mutex_);
    if (ended_) return false;
    boost::asio::post(threads_, std::move(work));
    return true;
  }
  bool busy() {
    const std::lock_guard lock(mutex_);
    return running_ > 0 || !calls_.empty();
  }

  // No page under a name of somebody else's, and none of another origin.
  absl::Status Refused(const HttpCall& http) const {
    if (!origins_.AllowsHost(http)) {
      return absl::PermissionDeniedError(
          "host: Admin is asked under an address or a name of the server itself");
    }
    if (!origins_.Allows(http)) return ForeignPage();
    return absl::OkStatus();
  }
  static absl::Status ForeignPage() {
    return absl::PermissionDeniedError("origin: Admin is for no page of another origin");
  }

  // By the head alone.
  absl::Status MayCall(const HttpCall& head, const AdminRoute& route) const {
    if (options_.gatekeeper == nullptr) return absl::OkStatus();
    const HandedCaller caller = CallerOf(head);
    return options_.gatekeeper->Knows(caller.credentials(), route.of->rpc->rule);
  }

  // A page may read and change what its own server administers, and nobody else's may.
  absl::Status Refused(const HttpCall& http, const AdminRoute& route) const {
    BANDANA_RETURN_IF_ERROR(Refused(http));
    const std::string_view site = http.Header("sec-fetch-site");
    if (!site.empty() && site != "same-origin" && site != "none") return ForeignPage();
    const bool is_page = !http.Header("origin").empty() || !site.empty();
    if (is_page && route.of->rpc->changes() && options_.gatekeeper == nullptr &&
        !IsLoopback(options_.listen)) {
      return absl::PermissionDeniedError(
          "origin: without `access` rules pages may change nothing off loopback");
    }
    return absl::OkStatus();
  }

  HttpAnswer Answer(const HttpCall& http, const AdminRoute& route) {
    absl::StatusOr<HttpAnswer> answer = Serve(http, route);
    return answer.ok() ? *std::move(answer) : ErrorAnswer(answer.status());
  }

  // Errors: those that are found before the call is made.
  absl::StatusOr<HttpAnswer> Serve(const HttpCall& http, const AdminRoute& route) {
    const AdminRpc& of = *route.of;
    const std::unique_ptr<Message> request = NewMessage(*of.method->input_type());
    if (of.sends == AdminForm::kMessage) {
      BANDANA_RETURN_IF_ERROR(FromJson(http.body, *request));
      if (of.of_model) BANDANA_RETURN_IF_ERROR(NameModel(route.model, *request));
    }
    RowText text = RowText::kJsonLines;
    if (of.sends == AdminForm::kRows) {
      BANDANA_ASSIGN_OR_RETURN(text, RowTextOf(http.Header("content-type")));
    }
    const std::optional<RowText> asked = AskedText(http);
    if (of.answers == AdminForm::kRows) text = asked.value_or(RowText::kJsonLines);
    // Users come page by page; whoever asks for rows gets all.
    if (asked && of.rpc->method() == "ListUsers") {
      return Users(http, of, dynamic_cast<const v1::ListUsersRequest&>(*request), *asked);
    }
    BANDANA_ASSIGN_OR_RETURN(auto ticket, options_.door.handed->Hand(CallerOf(http)));
    const auto tracked = std::make_shared<Tracked>(*this, *of.rpc, std::move(ticket));
    AdminCall& call = tracked->call();
    switch (of.sends) {
      case AdminForm::kMessage:
        call.Write(*request);
        break;
      case AdminForm::kRows:
        BANDANA_RETURN_IF_ERROR(WriteRows(http.body, text, route.model, *request, call));
        break;
      case AdminForm::kBytes:
        BANDANA_RETURN_IF_ERROR(WriteBytes(http, call));
        break;
    }
    call.EndWrites();
    std::unique_ptr<Message> response = NewMessage(*of.method->output_type());
    if (of.answers == AdminForm::kRows) {
      return Rows(tracked, std::move(response), text);
    }
    if (of.answers == AdminForm::kBytes) return Bytes(tracked);
    call.Read(*response);
    const CallEnd end = call.Finish();
    if (!end.status.ok()) return ErrorAnswer(end);
    BANDANA_ASSIGN_OR_RETURN(std::string json, ToJson(*response));
    return JsonAnswer(200, std::move(json));
  }

  // Rows of the body as messages of a stream. Errors: of the body; then nothing is changed, as the
  // stream has no last message.
  static absl::Status WriteRows(std::string_view body, RowText text, const std::string& model,
                                Message& request, AdminCall& call) {
    BANDANA_RETURN_IF_ERROR(NameModel(model, request));
    const auto& reflection = *request.GetReflection();
    const auto* const rows = request.GetDescriptor()->field(1);
    const auto* const last = request.GetDescriptor()->FindFieldByName("last");
    const std::unique_ptr<Message> row = NewMessage(*rows->message_type());
    std::size_t bytes = 0;
    BANDANA_RETURN_IF_ERROR(ReadRows(body, text, *row, [&] {
      bytes += row->ByteSizeLong();
      reflection.AddMessage(&request, rows)->CopyFrom(*row);
      if (bytes < kMessageBytes) return absl::OkStatus();
      call.Write(request);  // where it has ended, its end says why
      reflection.ClearField(&request, rows);
      bytes = 0;
      return absl::OkStatus();
    }));
    reflection.SetBool(&request, last, true);
    call.Write(request);
    return absl::OkStatus();
  }

  // An export, which names no model: the query does.
  static absl::Status WriteBytes(const HttpCall& http, AdminCall& call) {
    constexpr std::string_view kModel = "model=";
    if (!http.query.starts_with(kModel) || http.query.find('&') != std::string::npos) {
      return InvalidArgument("model: must be in the path's query, import?model=NAME");
    }
    v1::ImportRequest request;
    request.set_model(http.query.substr(kModel.size()));
    const std::string_view body = http.body;
    for (std::size_t at = 0; at < body.size(); at += kMessageBytes) {
      request.mutable_chunk()->set_data(std::string(body.substr(at, kMessageBytes)));
      call.Write(request);
      request.clear_model();
    }
    if (body.empty()) call.Write(request);
    return absl::OkStatus();
  }

  HttpAnswer Streamed(std::string_view type, Parts::Make make) {
    HttpAnswer answer = JsonAnswer(200, "");
    answer.headers[0].value = std::string(type);
    answer.parts = std::make_shared<Parts>(
        [this](std::function<void()> work) { return Post(std::move(work)); }, std::move(make));
    return answer;
  }

  // The first message comes before the head of the answer: an error that is known by then is one.
  HttpAnswer Rows(const std::shared_ptr<Tracked>& tracked, std::unique_ptr<Message> row,
                  RowText text) {
    AdminCall& call = tracked->call();
    const absl::StatusOr<std::string> header = RowHeader(*row, text);
    if (!header.ok()) return ErrorAnswer(header.status());
    std::string begun = *header;
    if (!call.Read(*row)) {
      const CallEnd end = call.Finish();
      if (!end.status.ok()) return ErrorAnswer(end);
      HttpAnswer empty = JsonAnswer(200, std::move(begun));
      empty.headers[0].value = std::string(TypeOf(text));
      return empty;
    }
    const absl::StatusOr<std::string> first = RowLine(*row, text);
    if (!first.ok()) return ErrorAnswer(first.status());
    auto rows = std::make_shared<RowParts>(std::shared_ptr<AdminCall>(tracked, &call),
                                           std::move(row), text, begun + *first);
    return Streamed(TypeOf(text), std::bind_front(&RowParts::Next, std::move(rows)));
  }

  HttpAnswer Bytes(const std::shared_ptr<Tracked>& tracked) {
    v1::Chunk chunk;
    if (!tracked->call().Read(chunk)) return ErrorAnswer(tracked->call().Finish());
    return Streamed("application/octet-stream", [tracked]() -> absl::StatusOr<std::string> {
      v1::Chunk next;
      while (tracked->call().Read(next)) {
        if (!next.data().empty()) return std::move(*next.mutable_data());
      }
      BANDANA_RETURN_IF_ERROR(tracked->call().Finish().status);
      return std::string();
    });
  }

  // All pages, one after another.
  HttpAnswer Users(const HttpCall& http, const AdminRpc& of, v1::ListUsersRequest request,
                   RowText text) {
    auto ended = std::make_shared<bool>(false);
    const auto page = [this, caller = CallerOf(http), &rpc = *of.rpc, request, text,
                       ended]() mutable -> absl::StatusOr<std::string> {
      if (*ended) return std::string();
      v1::ListUsersResponse response;
      const CallEnd end = Ask(caller, rpc, request, response);
      BANDANA_RETURN_IF_ERROR(end.status);
      std::string part;
      for (const v1::User& user : response.users()) {
        BANDANA_ASSIGN_OR_RETURN(const std::string line, RowLine(user, text));
        part += line;
        request.set_after(user.id());
      }
      *ended = response.users().empty();
      return part;
    };
    auto make = std::make_shared<std::function<absl::StatusOr<std::string>()>>(page);
    const absl::StatusOr<std::string> header = RowHeader(v1::User(), text);
    const absl::StatusOr<std::string> first = (*make)();
    if (!first.ok()) return ErrorAnswer(first.status());
    std::string begun = *header + *first;
    return Streamed(TypeOf(text), [make, begun]() mutable -> absl::StatusOr<std::string> {
      if (!begun.empty()) return std::exchange(begun, "");
      return (*make)();
    });
  }

  CallEnd Ask(const HandedCaller& caller, const Rpc& rpc, const Message& request,
              Message& response) {
    auto ticket = options_.door.handed->Hand(caller);
    if (!ticket.ok()) return {.status = ticket.status()};
    Tracked tracked(*this, rpc, *std::move(ticket));
    tracked.call().Write(request);
    tracked.call().EndWrites();
    tracked.call().Read(response);
    return tracked.call().Finish();
  }

  const AdminHttpOptions options_;
  const ConductSink conduct_;
  const Origins origins_;
  std::mutex mutex_;     // guards what follows
  bool closed_ = false;  // no call begins any more
  bool ended_ = false;   // and none goes on
  int running_ = 0;
  std::set<AdminCall*> calls_;
  boost::asio::thread_pool threads_;
};

AdminHttp::AdminHttp(AdminHttpOptions options, ConductSink conduct)
    : impl_(std::make_unique<Impl>(std::move(options), std::move(conduct))) {}
AdminHttp::~AdminHttp() = default;

bool AdminHttp::Has(const HttpCall& call) {
  return IsOfConsole(call.path) || FindAdminRoute(call.path).has_value();
}
void AdminHttp::Handle(HttpCall call, AnswerHttp answer) {
  impl_->Handle(std::move(call), std::move(answer));
}
std::size_t AdminHttp::BodyBytesMax(const HttpCall& head, std::size_t usual) const {
  return impl_->BodyBytesMax(head, usual);
}
HttpAnswer AdminHttp::Refusal(int status, const HttpCall& head, std::size_t usual) const {
  return impl_->Refusal(status, head, usual);
}
void AdminHttp::Shutdown(absl::Duration patience) { impl_->Shutdown(patience); }

}  // namespace bandana::server
