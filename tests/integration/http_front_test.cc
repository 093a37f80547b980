// Answers that are made while they are sent: their ends, and those of their listener.
#include "server/api/http_front.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "tests/support/http_request.h"
#include "tests/support/status_matchers.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

// Gives the parts of a script, one after another.
class Script final : public HttpParts {
 public:
  using Asked = std::function<void(Take)>;

  Script(std::vector<absl::StatusOr<std::string>> parts, Asked then, std::promise<void>& gone)
      : parts_(std::move(parts)), then_(std::move(then)), gone_(gone) {}
  ~Script() override { gone_.set_value(); }
  void Next(Take take) override {
    if (next_ == parts_.size()) return then_(std::move(take));
    take(parts_[next_++]);
  }

 private:
  const std::vector<absl::StatusOr<std::string>> parts_;
  const Asked then_;  // for parts beyond the script
  std::promise<void>& gone_;
  std::size_t next_ = 0;
};

class HttpFrontTest : public ::testing::Test, public HttpService {
 protected:
  void Start(std::vector<absl::StatusOr<std::string>> parts, Script::Asked then = nullptr) {
    parts_ = std::make_shared<Script>(std::move(parts), std::move(then), gone_);
    options_.listen = "127.0.0.1:0";
    options_.threads = 1;
    auto front = HttpFront::Bind(options_, *this);
    ASSERT_THAT(front, IsOk());
    front_ = *std::move(front);
    front_->Start();
  }
  void Handle(HttpCall, AnswerHttp answer) override {
    answer({.status = 200, .headers = {}, .body = "", .parts = std::exchange(parts_, nullptr)});
  }
  HttpAnswer Refusal(int status, const HttpCall&) override { return {.status = status}; }

  // All that comes, and whether the connection ended by a reset.
  std::pair<std::string, bool> Ask(const std::string& bytes) {
    const int peer = ConnectTo(front_->address());
    EXPECT_EQ(::send(peer, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
    std::string all;
    char buffer[4096];
    ssize_t size = 0;
    while ((size = ::recv(peer, buffer, sizeof buffer, 0)) > 0) {
      all.append(buffer, static_cast<std::size_t>(size));
    }
    const bool reset = size < 0 && errno == ECONNRESET;
    ::close(peer);
    return {all, reset};
  }

  HttpFrontOptions options_;
  std::promise<void> gone_;  // the parts are
  std::shared_ptr<Script> parts_;
  std::unique_ptr<HttpFront> front_;
};

constexpr char kGet[] = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
constexpr char kOldGet[] = "GET / HTTP/1.0\r\n\r\n";

TEST_F(HttpFrontTest, PartsAreChunks) {
  Start({"one", "two", ""});
  const auto [answer, reset] = Ask(kGet);
  EXPECT_THAT(answer, HasSubstr("Transfer-Encoding: chunked"));
  EXPECT_THAT(answer, EndsWith("\r\n\r\n3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n"));
  EXPECT_FALSE(reset);
}

TEST_F(HttpFrontTest, AnOldPeerGetsPartsUntilTheEndOfTheConnection) {
  Start({"one", "two", ""});
  const auto [answer, reset] = Ask(kOldGet);
  EXPECT_THAT(answer, EndsWith("\r\n\r\nonetwo"));
  EXPECT_THAT(answer, Not(HasSubstr("Transfer-Encoding")));
  EXPECT_FALSE(reset);
}

TEST_F(HttpFrontTest, ABodyThatIsCutLacksItsLastChunk) {
  Start({"one", absl::UnavailableError("gone")});
  EXPECT_THAT(Ask(kGet).first, EndsWith("\r\n\r\n3\r\none\r\n"));
}

// The end of a connection would be that of the body.
TEST_F(HttpFrontTest, ABodyThatIsCutEndsByAResetForAnOldPeer) {
  Start({"one", absl::UnavailableError("gone")});
  EXPECT_TRUE(Ask(kOldGet).second);
}

TEST_F(HttpFrontTest, AListenerThatStopsCutsTheBodyOfAnOldPeer) {
  std::promise<void> asked;
  Start({"one"}, [&](const HttpParts::Take&) { asked.set_value(); });
  auto answer = std::async(std::launch::async, [&] { return Ask(kOldGet); });
  asked.get_future().wait();
  front_->Stop();
  EXPECT_TRUE(answer.get().second);
}

TEST_F(HttpFrontTest, AHeadTakesNoPart) {
  Start({"one", ""}, [](const HttpParts::Take&) { FAIL(); });
  const auto [answer, reset] =
      Ask("HEAD / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(answer, EndsWith("\r\n\r\n"));
  gone_.get_future().wait();
}

TEST_F(HttpFrontTest, APeerThatReadsNothingIsLeft) {
  options_.write_time = absl::Milliseconds(20);
  Start({}, [](const HttpParts::Take& take) { take(std::string(1 << 20, 'x')); });
  const int peer = ConnectTo(front_->address());
  ASSERT_GT(::send(peer, kGet, sizeof kGet - 1, MSG_NOSIGNAL), 0);
  gone_.get_future().wait();
  ::close(peer);
}

// A thread of the service may hold the part's taker longer than the listener lives.
TEST_F(HttpFrontTest, APartThatComesAfterTheEndIsDropped) {
  std::promise<HttpParts::Take> asked;
  Start({"one"}, [&](HttpParts::Take take) { asked.set_value(std::move(take)); });
  auto answer = std::async(std::launch::async, [&] { return Ask(kGet).first; });
  const HttpParts::Take late = asked.get_future().get();
  front_.reset();
  gone_.get_future().wait();
  late("two");
  EXPECT_THAT(answer.get(), EndsWith("3\r\none\r\n"));
}

}  // namespace
}  // namespace bandana::server
