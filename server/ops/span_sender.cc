#include "server/ops/span_sender.h"

#include <spdlog/spdlog.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "common/base/status.h"

namespace bandana::server {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;

constexpr auto kSendInterval = std::chrono::seconds(1);
constexpr auto kPostTime = std::chrono::seconds(2);
constexpr std::size_t kSpansAtOnce = 512;
constexpr std::uint64_t kAnswerBytesMax = 64 << 10;

// One exchange, on a context of its own.
class Posting {
 public:
  Posting(const TraceCollector& collector, const std::string& body) {
    const std::string host = ToString(collector.address);
    request_.version(11);
    request_.method(http::verb::post);
    request_.target(collector.path);
    request_.set(http::field::host, host);
    request_.set(http::field::content_type, "application/json");
    request_.set(http::field::connection, "close");
    request_.body() = body;
    request_.prepare_payload();
    answer_.body_limit(kAnswerBytesMax);
    const std::string& name = collector.address.host;
    const auto ip = asio::ip::make_address(name == "localhost" ? "127.0.0.1" : name, error_);
    endpoint_ = asio::ip::tcp::endpoint(ip, collector.address.port);
  }

  absl::Status Run() {
    if (error_) return Unavailable("not an address: ", error_.message());
    stream_.expires_after(kPostTime);
    stream_.async_connect(endpoint_, [this](beast::error_code error) {
      if (Failed(error)) return;
      http::async_write(stream_, request_, [this](beast::error_code error, std::size_t) {
        if (Failed(error)) return;
        http::async_read(stream_, buffer_, answer_,
                         [this](beast::error_code error, std::size_t) { Failed(error); });
      });
    });
    io_.run();
    if (error_) return Unavailable("no answer: ", error_.message());
    const unsigned status = answer_.get().result_int();
    return status / 100 == 2 ? absl::OkStatus() : Unavailable("it answered ", status);
  }

 private:
  bool Failed(beast::error_code error) {
    error_ = error;
    return static_cast<bool>(error);
  }

  asio::io_context io_;
  beast::tcp_stream stream_{io_};
  asio::ip::tcp::endpoint endpoint_;
  http::request<http::string_body> request_;
  beast::flat_buffer buffer_;
  http::response_parser<http::string_body> answer_;
  beast::error_code error_;
};

}  // namespace

absl::Status PostSpans(const TraceCollector& collector, const std::string& body) {
  return Posting(collector, body).Run();
}

SpanSender::SpanSender(TraceCollector collector, SpanQueue& queue)
    : collector_(std::move(collector)), queue_(queue), thread_([this] { Run(); }) {}

SpanSender::~SpanSender() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  stop_.notify_all();
  thread_.join();
}

void SpanSender::Run() {
  for (bool last = false; !last;) {
    {
      std::unique_lock lock(mutex_);
      last = stop_.wait_for(lock, kSendInterval, [this] { return stopping_; });
    }
    SendAll();
  }
}

void SpanSender::SendAll() {
  for (;;) {
    const std::vector<CallSpan> spans = queue_.Take(kSpansAtOnce);
    if (spans.empty()) return;
    const absl::Status sent = PostSpans(collector_, OtlpJson(spans));
    if (sent.ok()) {
      queue_.Sent(spans.size());
      if (std::exchange(failing_, false)) spdlog::info("traces: the collector takes spans again");
      continue;
    }
    queue_.Dropped(spans.size());
    if (!std::exchange(failing_, true)) {
      spdlog::warn("traces: spans are dropped until the collector takes them: {}",
                   std::string(sent.message()));
    }
    return;
  }
}

}  // namespace bandana::server
