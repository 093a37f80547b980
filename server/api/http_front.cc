#include "server/api/http_front.h"

#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>
#include <chrono>
#include <limits>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "server/api/tls_contexts.h"
#include "server/service/connections/peer.h"

namespace bandana::server {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using Error = beast::error_code;
using Executor = asio::io_context::executor_type;
using Plain = beast::basic_stream<asio::ip::tcp, Executor>;
using Secure = beast::ssl_stream<Plain>;
using Request = http::request<http::string_body>;

constexpr std::size_t kHeadBytesMax = 16 * 1024;
// The time that the last answers get to reach their clients.
constexpr absl::Duration kFlushGrace = absl::Milliseconds(200);
// A call that may take longer is not timed.
constexpr absl::Duration kTimedMax = absl::Hours(24);

std::chrono::nanoseconds Wait(absl::Duration time) { return absl::ToChronoNanoseconds(time); }

// A body that moves may take a second longer per so many bytes.
absl::Duration MovingTime(std::size_t bytes) {
  return absl::Seconds(1) * (static_cast<double>(bytes) / (1 << 20));
}

// A part of a bound that all connections share.
class Share {
 public:
  Share() = default;
  ~Share() { Release(); }
  Share(const Share&) = delete;
  Share& operator=(const Share&) = delete;
  // False: there is no room.
  bool Take(std::atomic<std::size_t>& all, std::size_t bytes, std::size_t most) {
    Release();
    if (all.fetch_add(bytes) + bytes > most) {
      all.fetch_sub(bytes);
      return false;
    }
    all_ = &all;
    bytes_ = bytes;
    return true;
  }
  void Release() {
    if (all_ != nullptr) all_->fetch_sub(std::exchange(bytes_, 0));
  }

 private:
  std::atomic<std::size_t>* all_ = nullptr;
  std::size_t bytes_ = 0;
};

// The state that connections share. Answers come through it, so that none touches a connection
// whose listener is gone.
struct Shared {
  const HttpFrontOptions options;
  HttpService& service;
  std::atomic<bool> draining{false};
  std::atomic<std::size_t> bodies{0};
  std::atomic<std::size_t> large_bodies{0};
  std::atomic<std::size_t> answers{0};
  std::atomic<int> writing{0};
  std::mutex mutex;  // guards what follows
  bool open = true;  // an answer may still be handed to its connection
  // Connections live as long as somebody waits for them: these, for answers and parts of answers.
  // By a number for each: what comes after its time must not find the connection's next call.
  std::unordered_map<std::uint64_t, std::shared_ptr<void>> waiting;
  std::uint64_t calls = 0;

  // A number under which the connection waits from now on; 0: the listener is gone.
  std::uint64_t Add(std::shared_ptr<void> connection) {
    const std::lock_guard lock(mutex);
    if (!open) return 0;
    waiting.emplace(++calls, std::move(connection));
    return calls;
  }
  // The connection that waits under this number; null: none does any more. Requires the mutex.
  std::shared_ptr<void> Take(std::uint64_t call) {
    const auto found = waiting.find(call);
    if (found == waiting.end()) return nullptr;
    std::shared_ptr<void> connection = std::move(found->second);
    waiting.erase(found);
    return connection;
  }
};

std::string UriOf(const sockaddr_storage& address) {
  const std::optional<Peer> peer = PeerOf(address);
  if (!peer) return "";
  if (!peer->name.starts_with('[')) return "ipv4:" + peer->name;
  const std::size_t end = peer->name.rfind(']');
  return absl::StrCat("ipv6:%5B", peer->name.substr(1, end - 1), "%5D", peer->name.substr(end + 1));
}

// A target in absolute form (RFC 9112, 3.2.2) becomes what stands behind its host. Returns the
// host; empty: it has none.
std::string TakeHost(std::string& target) {
  constexpr std::string_view kSchemes[] = {"http://", "https://"};
  for (const std::string_view scheme : kSchemes) {
    if (!absl::StartsWithIgnoreCase(target, ToAbsl(scheme))) continue;
    const std::size_t end = std::min(target.find_first_of("/?", scheme.size()), target.size());
    const std::string host = target.substr(scheme.size(), end - scheme.size());
    target.erase(0, end);
    if (!target.starts_with('/')) target.insert(0, 1, '/');
    return host;
  }
  return "";
}

HttpCall HeadOf(const Request& request) {
  HttpCall call;
  call.method = std::string(request.method_string());
  std::string target(request.target());
  const std::string host = TakeHost(target);
  const std::size_t mark = target.find('?');
  // Clients put paths behind an address that ends in a slash.
  for (const char c : std::string_view(target).substr(0, mark)) {
    if (c != '/' || !call.path.ends_with('/')) call.path += c;
  }
  if (mark != std::string::npos) call.query = target.substr(mark + 1);
  for (const auto& field : request) {
    call.headers.push_back(
        {absl::AsciiStrToLower(std::string(field.name_string())), std::string(field.value())});
  }
  if (host.empty()) return call;
  std::erase_if(call.headers, [](const HttpHeader& header) { return header.name == "host"; });
  call.headers.push_back({"host", host});
  return call;
}

// 0, or the status of the refusal. A message that a proxy before us may have read another way is no
// request (RFC 9112, 3.2 and 6.1).
int Misread(const Request& request, const HttpCall& head) {
  const auto count = [&](http::field field) { return request.count(field); };
  const std::size_t hosts = count(http::field::host);
  if (hosts > 1 || (hosts == 0 && request.version() >= 11)) return 400;
  const std::string_view host = head.Header("host");
  const bool plain = std::ranges::all_of(host, [](unsigned char c) {
    return absl::ascii_isalnum(c) || std::string_view("-._~:[]%").find(c) != std::string_view::npos;
  });
  if (!plain || count(http::field::content_length) > 1) return 400;
  const std::size_t codings = count(http::field::transfer_encoding);
  if (codings == 0) return 0;
  if (count(http::field::content_length) > 0 || request.version() < 11) return 400;
  const std::string coding(request[http::field::transfer_encoding]);
  return codings == 1 && absl::EqualsIgnoreCase(coding, "chunked") ? 0 : 501;
}

// One connection. Everything happens on the thread that runs its io_context.
template <typename Stream>
class Session final : public std::enable_shared_from_this<Session<Stream>> {
 public:
  Session(Stream stream, std::shared_ptr<Shared> shared, std::string peer)
      : stream_(std::move(stream)), shared_(std::move(shared)), peer_(std::move(peer)) {}

  void Start() {
    asio::dispatch(stream_.get_executor(), [self = this->shared_from_this()] {
      if constexpr (kSecure) {
        self->socket().expires_after(Wait(self->options().handshake_time));
        self->stream_.async_handshake(asio::ssl::stream_base::server, [self](Error error) {
          if (error) return;
          self->subjects_ = VerifiedSubjects(self->stream_.native_handle());
          self->Read();
        });
      } else {
        self->Read();
      }
    });
  }

 private:
  static constexpr bool kSecure = std::is_same_v<Stream, Secure>;
  static Plain& Lowest(Plain& stream) { return stream; }
  static Plain& Lowest(Secure& stream) { return stream.next_layer(); }
  Plain& socket() { return Lowest(stream_); }
  const HttpFrontOptions& options() const { return shared_->options; }

  void Read() {
    parser_.emplace();
    head_ = {};
    parser_->header_limit(kHeadBytesMax);
    // Until the head says whose call it is. Boost takes a limit that is absent for one of 0.
    parser_->body_limit(std::numeric_limits<std::uint64_t>::max());
    socket().expires_after(Wait(options().idle_time));
    http::async_read_header(stream_, buffer_, *parser_,
                            [self = this->shared_from_this()](Error error, std::size_t) {
                              if (error) return self->Fail(error);
                              self->ReadBody();
                            });
  }

  void ReadBody() {
    head_ = HeadOf(parser_->get());
    head_.peer = peer_;
    if (const int refused = Misread(parser_->get(), head_); refused != 0) return Refuse(refused);
    const std::size_t most = shared_->service.BodyBytesMax(head_, options().body_bytes_max);
    parser_->body_limit(most);
    const auto length = parser_->content_length();
    if (length && *length > most) return Refuse(413);
    const std::size_t bytes = length ? *length : parser_->chunked() ? most : 0;
    // Bodies that are larger than usual leave the others their room.
    std::atomic<std::size_t>& room =
        most > options().body_bytes_max ? shared_->large_bodies : shared_->bodies;
    if (!body_.Take(room, bytes, options().bodies_bytes_max)) return Refuse(503);
    socket().expires_after(Wait(options().body_time + MovingTime(bytes)));
    if (absl::EqualsIgnoreCase(std::string(parser_->get()[http::field::expect]), "100-continue")) {
      static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
      asio::async_write(stream_, asio::buffer(kContinue.data(), kContinue.size()),
                        [self = this->shared_from_this()](Error error, std::size_t) {
                          if (!error) self->ReadRest();
                        });
      return;
    }
    ReadRest();
  }

  void ReadRest() {
    http::async_read(stream_, buffer_, *parser_,
                     [self = this->shared_from_this()](Error error, std::size_t) {
                       if (error) return self->Fail(error);
                       self->Serve();
                     });
  }

  void Serve() {
    socket().expires_never();
    keep_ = parser_->get().keep_alive();
    head_only_ = parser_->get().method() == http::verb::head;
    version_ = parser_->get().version();
    HttpCall call = head_;
    call.body = std::move(parser_->get().body());
    call.subjects = subjects_;
    const std::uint64_t number = shared_->Add(this->shared_from_this());
    if (number == 0) return;
    if (const absl::Duration time = shared_->service.TimeFor(call); time < kTimedMax) {
      Expire(number, time);
    }
    shared_->service.Handle(std::move(call), [number, shared = shared_](HttpAnswer answer) {
      const std::lock_guard lock(shared->mutex);
      auto self = std::static_pointer_cast<Session>(shared->Take(number));
      if (self == nullptr) return;
      ++shared->writing;
      const auto executor = self->stream_.get_executor();
      asio::post(executor, [self = std::move(self), answer = std::move(answer)]() mutable {
        self->Write(std::move(answer));
      });
    });
  }

  // The call goes on; nobody waits for it any more.
  void Expire(std::uint64_t number, absl::Duration time) {
    timer_.emplace(stream_.get_executor(), Wait(time));
    timer_->async_wait([self = this->shared_from_this(), number](Error error) {
      {
        const std::lock_guard lock(self->shared_->mutex);
        if (error || self->shared_->Take(number) == nullptr) return;
        ++self->shared_->writing;
      }
      self->Write(self->shared_->service.Refusal(504, self->head_));
    });
  }

  void Refuse(int status) {
    keep_ = false;
    if (head_.method.empty()) head_ = HeadOf(parser_->get());
    head_.peer = peer_;
    ++shared_->writing;
    Write(shared_->service.Refusal(status, head_));
  }

  void Fail(Error error) {
    if (error == http::error::body_limit) return Refuse(413);
    if (error == http::error::header_limit || error == http::error::buffer_overflow) {
      return Refuse(431);
    }
    const bool theirs = error.category() == make_error_code(http::error::bad_version).category();
    if (theirs && error != http::error::end_of_stream && error != http::error::partial_message) {
      return Refuse(400);
    }
    Close();
  }

  void Write(HttpAnswer answer) {
    const std::shared_ptr<Session> self = this->shared_from_this();
    timer_.reset();
    body_.Release();
    if (answer.parts != nullptr) return WriteParts(std::move(answer));
    if (!answer_.Take(shared_->answers, answer.body.size(), options().answers_bytes_max)) {
      answer = shared_->service.Refusal(503, head_);
    }
    Answer(answer);
    if (answer.status != 204 && answer.status != 304) response_.content_length(answer.body.size());
    if (!head_only_) response_.body() = std::move(answer.body);
    serializer_.emplace(response_);
    socket().expires_after(Wait(options().write_time));
    http::async_write(stream_, *serializer_, [self](Error error, std::size_t) {
      self->answer_.Release();
      self->response_.body() = {};
      self->Written(error);
    });
  }

  // The head of the answer, without its length.
  void Answer(const HttpAnswer& answer) {
    keep_ = keep_ && !shared_->draining.load(std::memory_order_relaxed);
    response_ = {};
    response_.version(version_);
    response_.result(static_cast<unsigned>(answer.status));
    for (const HttpHeader& header : answer.headers) response_.insert(header.name, header.value);
    response_.keep_alive(keep_);
  }

  void Written(Error error) {
    --shared_->writing;
    if (error) return;
    if (keep_) return Read();
    Close();
  }

  // A peer that has HTTP/1.0 knows the end of parts by that of the connection. So until the last
  // one is there, the connection ends by a reset, whatever ends it.
  bool is_chunked() const { return version_ >= 11; }
  void EndByReset(bool so) {
    Error ignored;
    socket().socket().set_option(asio::socket_base::linger(so, 0), ignored);
  }

  void WriteParts(HttpAnswer answer) {
    keep_ = keep_ && is_chunked();
    Answer(answer);
    response_.chunked(is_chunked());
    if (!head_only_) {
      parts_ = std::move(answer.parts);
      if (!is_chunked()) EndByReset(true);
    }
    serializer_.emplace(response_);
    socket().expires_after(Wait(options().write_time));
    http::async_write_header(
        stream_, *serializer_, [self = this->shared_from_this()](Error error, std::size_t) {
          error || self->parts_ == nullptr ? self->Written(error) : self->NextPart();
        });
  }

  void NextPart() {
    socket().expires_never();
    const std::uint64_t number = shared_->Add(this->shared_from_this());
    if (number == 0) return;
    parts_->Next([number, shared = shared_](absl::StatusOr<std::string> part) {
      const std::lock_guard lock(shared->mutex);
      auto self = std::static_pointer_cast<Session>(shared->Take(number));
      if (self == nullptr) return;
      const auto executor = self->stream_.get_executor();
      asio::post(executor, [self = std::move(self), part = std::move(part)]() mutable {
        self->WritePart(std::move(part));
      });
    });
  }

  void WritePart(absl::StatusOr<std::string> part) {
    socket().expires_after(Wait(options().write_time));
    const auto self = this->shared_from_this();
    if (!part.ok()) {
      parts_ = nullptr;
      keep_ = false;
      --shared_->writing;
      socket().close();  // without the last chunk
      return;
    }
    part_ = *std::move(part);
    const bool last = part_.empty();
    const auto written = [self, last](Error error, std::size_t) {
      if (!error && !last) return self->NextPart();
      self->parts_ = nullptr;
      if (!error && !self->is_chunked()) self->EndByReset(false);
      self->Written(error);
    };
    const asio::const_buffer bytes(part_.data(), part_.size());
    if (!is_chunked()) {
      asio::async_write(stream_, asio::buffer(bytes), written);
    } else if (last) {
      asio::async_write(stream_, http::make_chunk_last(), written);
    } else {
      asio::async_write(stream_, http::make_chunk(bytes), written);
    }
  }

  void Close() {
    socket().expires_after(std::chrono::seconds(2));
    if constexpr (kSecure) {
      stream_.async_shutdown([self = this->shared_from_this()](Error) { self->Linger(); });
    } else {
      Linger();
    }
  }

  // Reads for a moment what the peer is still sending: a reset would take the answer from it.
  void Linger() {
    Error ignored;
    socket().socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
    buffer_.clear();
    if (lingered_ > kLingerBytesMax) return;
    socket().async_read_some(buffer_.prepare(kHeadBytesMax),
                             [self = this->shared_from_this()](Error error, std::size_t bytes) {
                               self->lingered_ += bytes;
                               if (!error) self->Linger();
                             });
  }

  static constexpr std::size_t kLingerBytesMax = 4 << 20;

  Stream stream_;
  const std::shared_ptr<Shared> shared_;
  const std::string peer_;
  std::vector<std::string> subjects_;
  beast::flat_buffer buffer_{2 * kHeadBytesMax};
  std::optional<http::request_parser<http::string_body>> parser_;
  http::response<http::string_body> response_;
  std::optional<http::response_serializer<http::string_body>> serializer_;
  std::shared_ptr<HttpParts> parts_;  // of the answer that is being written
  std::string part_;
  HttpCall head_;  // of the request that is being read or answered
  std::optional<asio::basic_waitable_timer<std::chrono::steady_clock,
                                           asio::wait_traits<std::chrono::steady_clock>, Executor>>
      timer_;  // of its answer
  Share body_;
  Share answer_;
  bool keep_ = false;
  bool head_only_ = false;
  unsigned version_ = 11;
  std::size_t lingered_ = 0;
};

class Front final : public HttpFront {
 public:
  Front(const HttpFrontOptions& options, HttpService& service)
      : shared_(new Shared{.options = options, .service = service}),
        contexts_(options.tls),
        address_(options.listen) {
    for (int i = 0; i < options.threads; ++i) loops_.push_back(std::make_unique<Loop>());
  }
  ~Front() override { Stop(); }

  absl::Status Bind() {
    const HttpFrontOptions& options = shared_->options;
    ConnectionLimits limits = options.connections;
    limits.handshakes = options.tls != nullptr;
    BANDANA_ASSIGN_OR_RETURN(acceptor_, Acceptor::Bind(options.listen, limits));
    address_ =
        absl::StrCat(options.listen.substr(0, options.listen.rfind(':')), ":", acceptor_->port());
    return absl::OkStatus();
  }

  void Start() override {
    for (const auto& loop : loops_) {
      loop->thread = std::thread([&io = loop->io] { io.run(); });
    }
    if (acceptor_ == nullptr) return;
    acceptor_->Start([this](int, int connection) { Take(connection); }, nullptr);
  }

  void Take(int connection) override {
    sockaddr_storage address = {};
    socklen_t size = sizeof address;
    ::getpeername(connection, reinterpret_cast<sockaddr*>(&address), &size);
    const auto protocol = address.ss_family == AF_INET6 ? asio::ip::tcp::v6() : asio::ip::tcp::v4();
    // In turns: connections stay with the thread that they were given to.
    Loop& loop = *loops_[next_.fetch_add(1) % loops_.size()];
    asio::basic_stream_socket<asio::ip::tcp, Executor> socket(loop.io.get_executor());
    Error error;
    socket.assign(protocol, connection, error);
    if (error) {
      ::close(connection);
      return;
    }
    Plain plain(std::move(socket));
    if (shared_->options.tls == nullptr) {
      return std::make_shared<Session<Plain>>(std::move(plain), shared_, UriOf(address))->Start();
    }
    const std::shared_ptr<asio::ssl::context> context = contexts_.Newest();
    if (context == nullptr) return;
    std::make_shared<Session<Secure>>(Secure(std::move(plain), *context), shared_, UriOf(address))
        ->Start();
  }

  const std::string& address() const override { return address_; }
  void Report(const std::string& peer, Conduct conduct) override {
    if (acceptor_ != nullptr) acceptor_->Report(peer, conduct);
  }
  ConnectionStats connections() const override {
    return acceptor_ == nullptr ? ConnectionStats{} : acceptor_->stats();
  }
  void SetDraining() override {
    shared_->draining = true;
    if (acceptor_ != nullptr) acceptor_->Stop();
  }

  void Flush(absl::Time steady_deadline) override {
    const absl::Time until = std::max(steady_deadline, SteadyNow() + kFlushGrace);
    while (shared_->writing.load() > 0 && SteadyNow() < until)
      absl::SleepFor(absl::Milliseconds(1));
  }

  void Stop() override {
    const std::lock_guard once(stop_mutex_);
    if (acceptor_ != nullptr) acceptor_->Stop();
    {
      const std::lock_guard lock(shared_->mutex);
      shared_->open = false;
    }
    for (const auto& loop : loops_) loop->io.stop();
    for (const auto& loop : loops_) {
      if (loop->thread.joinable()) loop->thread.join();
    }
    std::unordered_map<std::uint64_t, std::shared_ptr<void>> waiting;
    {
      const std::lock_guard lock(shared_->mutex);
      waiting.swap(shared_->waiting);
    }
    waiting.clear();
    loops_.clear();  // and with them the other connections
  }

 private:
  // A thread with the connections that it alone serves: no queue is shared, and no lock.
  struct Loop {
    asio::io_context io{1};
    asio::executor_work_guard<Executor> work{io.get_executor()};
    std::thread thread;
  };

  const std::shared_ptr<Shared> shared_;
  TlsContexts contexts_;
  std::string address_;
  std::vector<std::unique_ptr<Loop>> loops_;
  std::atomic<std::size_t> next_{0};  // of the loops
  std::mutex stop_mutex_;
  std::unique_ptr<Acceptor> acceptor_;  // destroyed first: it calls Take
};

}  // namespace

std::string_view HttpCall::Header(std::string_view name) const {
  const auto found = std::ranges::find(headers, name, &HttpHeader::name);
  return found == headers.end() ? std::string_view() : found->value;
}

absl::StatusOr<std::unique_ptr<HttpFront>> HttpFront::Bind(const HttpFrontOptions& options,
                                                           HttpService& service) {
  auto front = std::make_unique<Front>(options, service);
  BANDANA_RETURN_IF_ERROR(front->Bind());
  return front;
}

std::unique_ptr<HttpFront> HttpFront::Over(const HttpFrontOptions& options, HttpService& service) {
  return std::make_unique<Front>(options, service);
}

}  // namespace bandana::server
