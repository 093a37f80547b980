// Twice the calls that the real server can serve, for a minute, in an open loop: goodput, latency
// of what is admitted, memory, and recovery. Prints figures; asserts only what holds on any
// machine.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "bandana/v1/recommender.grpc.pb.h"
#include "common/base/file.h"
#include "tests/support/http_request.h"
#include "tests/support/server_process.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace bandana::testing {
namespace {

// A selection costs the server far more than the client: 1000 catalogue arms at d = 25.
constexpr int kArms = 1000;
constexpr int kDimension = 25;

std::string ArmsTsv() {
  std::string text;
  for (int a = 0; a < kArms; ++a) {
    absl::StrAppend(&text, a, "\t-\t");
    for (int i = 0; i < kDimension; ++i) {
      absl::StrAppend(&text, i == 0 ? "" : " ", std::sin(a * 0.37 + i * 1.7) / kDimension);
    }
    absl::StrAppend(&text, "\n");
  }
  return text;
}

double ResidentMiB(const ServerProcess& server) {
  const std::string name = "\nprocess_resident_memory_bytes ";
  const std::string body = HttpRequest(server.http_listen(), "/metrics").body;
  const std::size_t at = body.find(name);
  double bytes = 0;
  if (at == std::string::npos) return 0;
  const std::size_t from = at + name.size();
  return absl::SimpleAtod(body.substr(from, body.find('\n', from) - from), &bytes)
             ? bytes / (1 << 20)
             : 0;
}

struct Window {
  std::map<int, int> codes;         // answers by gRPC status
  std::vector<double> admitted_ms;  // latencies of those that were OK, from their planned start

  double goodput(double seconds) const {
    const auto found = codes.find(grpc::StatusCode::OK);
    return (found == codes.end() ? 0 : found->second) / seconds;
  }
  double Quantile(double q) {
    if (admitted_ms.empty()) return 0;
    std::sort(admitted_ms.begin(), admitted_ms.end());
    return admitted_ms[static_cast<std::size_t>(q * static_cast<double>(admitted_ms.size() - 1))];
  }
};

// One thread, asynchronous calls without retries, in turn on connections of their own: what one
// connection may carry at a time is bounded too. Deadline 2 s.
class Load {
 public:
  static constexpr int kConnections = 16;

  explicit Load(const std::string& address) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    for (int c = 0; c < kConnections; ++c) {
      stubs_.push_back(v1::Recommender::NewStub(
          grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments)));
    }
    request_.set_model("news");
    request_.set_user("u");
    request_.mutable_arms()->mutable_catalogue_query();
  }
  ~Load() {
    while (open_ > 0) Take(absl::InfiniteFuture(), nullptr);
  }

  // Closed loop with `in_flight` calls.
  Window Closed(int in_flight, absl::Duration time) {
    Window window;
    const absl::Time end = absl::Now() + time;
    while (absl::Now() < end) {
      while (open_ < in_flight) Start(absl::Now());
      Take(end, &window);
    }
    return window;
  }

  // Open loop: calls at even intervals, whatever is under way; `each_second` is told once a second.
  template <typename EachSecond>
  Window Open(double rate, absl::Duration time, EachSecond each_second) {
    Window window;
    const absl::Time begin = absl::Now();
    absl::Time tick = begin + absl::Seconds(1);
    std::int64_t started = 0;
    for (absl::Time now = begin; now < begin + time; now = absl::Now()) {
      const auto due = static_cast<std::int64_t>(absl::ToDoubleSeconds(now - begin) * rate);
      for (; started < due; ++started) {
        if (open_ < 4000) {
          Start(begin + absl::Seconds(static_cast<double>(started) / rate));
        } else {
          ++not_sent_;
        }
      }
      Take(std::min(now + absl::Milliseconds(1), tick), &window);
      if (absl::Now() >= tick) {
        each_second(window);
        tick += absl::Seconds(1);
      }
    }
    return window;
  }

  std::int64_t not_sent() const { return not_sent_; }

 private:
  struct Call {
    grpc::ClientContext context;
    grpc::Status status;
    v1::SelectResponse response;
    std::unique_ptr<grpc::ClientAsyncResponseReader<v1::SelectResponse>> reader;
    absl::Time planned;
  };

  void Start(absl::Time planned) {
    auto call = std::make_unique<Call>();
    call->planned = planned;
    call->context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(2));
    next_ = (next_ + 1) % kConnections;
    call->reader = stubs_[next_]->AsyncSelect(&call->context, request_, &queue_);
    Call* const raw = call.release();  // until Take
    raw->reader->Finish(&raw->response, &raw->status, raw);
    ++open_;
  }

  // All answers that are there, waiting until `end` for the first.
  void Take(absl::Time end, Window* window) {
    void* tag = nullptr;
    bool ok = false;
    auto until = absl::ToChronoTime(std::min(end, absl::Now() + absl::Seconds(5)));
    while (queue_.AsyncNext(&tag, &ok, until) == grpc::CompletionQueue::GOT_EVENT) {
      const std::unique_ptr<Call> call(static_cast<Call*>(tag));
      --open_;
      until = {};  // what else is there already
      if (window == nullptr) continue;
      ++window->codes[call->status.error_code()];
      if (call->status.ok()) {
        window->admitted_ms.push_back(absl::ToDoubleMilliseconds(absl::Now() - call->planned));
      }
    }
  }

  std::vector<std::unique_ptr<v1::Recommender::Stub>> stubs_;
  int next_ = 0;
  grpc::CompletionQueue queue_;
  v1::SelectRequest request_;
  int open_ = 0;
  std::int64_t not_sent_ = 0;
};

TEST(Overload, DegradesAndRecovers) {
  const TempDir folder;
  ASSERT_THAT(WriteFileDurably(folder.File("arms.tsv"), ArmsTsv(), 0600), IsOk());
  const auto server = *ServerProcess::Start(
      {.config = absl::StrCat("models { name: 'news' dimension: ", kDimension,
                              " shared {} mode: NON_PRIVATE arms_file: 'arms.tsv' }"),
       .folder = folder.path()});
  Load load(server->listen());
  const Window warm = load.Closed(32, absl::Seconds(2));
  ASSERT_EQ(warm.codes.count(grpc::StatusCode::OK), 1);
  ASSERT_EQ(warm.codes.size(), 1) << "all answers of a server that is not overloaded are OK";
  const double capacity = load.Closed(32, absl::Seconds(10)).goodput(10);
  Window quiet = load.Open(capacity / 4, absl::Seconds(5), [](const Window&) {});
  const double memory = ResidentMiB(*server);
  std::printf(
      "capacity %.0f selections/s (closed loop, 32 in flight); at a quarter p50 %.2f ms, "
      "p99 %.2f ms; server %.0f MiB\n",
      capacity, quiet.Quantile(0.5), quiet.Quantile(0.99), memory);

  const absl::Duration minute = absl::Seconds(60);
  double memory_max = 0;
  int second = 0;
  Window over = load.Open(2 * capacity, minute, [&](const Window&) {
    if (++second % 10 == 0) memory_max = std::max(memory_max, ResidentMiB(*server));
  });
  std::printf(
      "twice that for 60 s: goodput %.0f/s = %.2f of capacity; admitted p50 %.1f ms, p99 "
      "%.1f ms; server at most %.0f MiB; not sent %lld\n",
      over.goodput(60), over.goodput(60) / capacity, over.Quantile(0.5), over.Quantile(0.99),
      memory_max, static_cast<long long>(load.not_sent()));
  for (const auto& [code, count] : over.codes) std::printf("  status %d: %d\n", code, count);

  for (int s = 1; s <= 5; ++s) {
    Window after = load.Open(capacity / 4, absl::Seconds(1), [](const Window&) {});
    std::printf("  %d s after: p50 %.2f ms, p99 %.2f ms, refused %d\n", s, after.Quantile(0.5),
                after.Quantile(0.99), after.codes[grpc::StatusCode::RESOURCE_EXHAUSTED]);
    if (s == 5) {
      EXPECT_EQ(after.codes[grpc::StatusCode::RESOURCE_EXHAUSTED], 0);
    }
  }
  const double capacity_after = load.Closed(32, absl::Seconds(5)).goodput(5);
  std::printf("server %.0f MiB; capacity now %.0f selections/s\n", ResidentMiB(*server),
              capacity_after);
  if (over.codes[grpc::StatusCode::RESOURCE_EXHAUSTED] == 0) {
    GTEST_SKIP() << "the machine became faster meanwhile: there was no overload";
  }

  // Who asks for more than there is holds no thread: nothing was closed as a flood.
  EXPECT_THAT(HttpRequest(server->http_listen(), "/metrics").body,
              ::testing::HasSubstr(
                  "bandana_connections_closed_total{listener=\"listen\",reason=\"flood\"} 0"));
  // Refused or late, never anything else.
  for (const auto& [code, count] : over.codes) {
    EXPECT_THAT(code, ::testing::AnyOf(grpc::StatusCode::OK, grpc::StatusCode::RESOURCE_EXHAUSTED,
                                       grpc::StatusCode::DEADLINE_EXCEEDED));
  }
  EXPECT_GT(over.codes[grpc::StatusCode::OK], 0);
  EXPECT_EQ(server->Terminate(), 0);
}

}  // namespace
}  // namespace bandana::testing
