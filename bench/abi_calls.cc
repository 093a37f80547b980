// Processor time of libbandana for one decision, on one thread: a decision with a reward window, a
// reaction to it, and its report when the window closes. The host keeps nothing and answers every
// call and commit at once, so that the library's own time is left. The last lines are
// `KEY=MICROSECONDS`.
#include <bandana.h>

#include <cstdint>
#include <cstdio>
#include <ctime>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "bandana/v1/recommender.pb.h"
#include "bench/window_model.h"
#include "common/base/check.h"
#include "common/design/wire_messages.h"

ABSL_FLAG(int, decisions, 20'000, "in all");
ABSL_FLAG(int, arms, 10, "to choose from");
ABSL_FLAG(int, dimension, 25, "of their features");
ABSL_FLAG(int, waiting, 100, "decisions whose windows are open at once");

namespace bandana::bench {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

bandana_bytes BytesOf(std::string_view text) { return {text.data(), text.size()}; }

// Seconds of this process's processors.
double ProcessorSeconds() {
  timespec now = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

class Host {
 public:
  explicit Host(const PublicSpec& spec) : model_(Framed(ToProto(spec).SerializeAsString())) {
    bandana_hooks hooks = {};
    hooks.size = sizeof hooks;
    hooks.context = this;
    hooks.call = [](void* self, const bandana_call* call) { Of(self).Call(*call); };
    hooks.commit = [](void* self, const bandana_commit* commit) {
      bandana_committed(Of(self).device_, commit->id, BANDANA_OK);
    };
    hooks.wall_ns = [](void* self) { return 1'800'000'000 * kSecond + Of(self).now_; };
    hooks.elapsed_ns = [](void* self) { return Of(self).now_; };
    hooks.wake = [](void*, std::int64_t) {};
    hooks.tell = [](void* self, const bandana_result* result) { Of(self).Told(*result); };
    BANDANA_CHECK(bandana_device_new(&hooks, &device_) == BANDANA_OK);
    bandana_start_of start = {};
    start.size = sizeof start;
    start.durable = 1;
    BANDANA_CHECK(bandana_start(device_, &start, 1) == BANDANA_OK);
    bandana_options options;
    bandana_options_init(&options);
    options.target = BytesOf("host");
    options.model = BytesOf(spec.name);
    BANDANA_CHECK(bandana_connect(device_, &options, 2) == BANDANA_OK);
    AnswerCalls();
    BANDANA_CHECK(client_ != 0);
  }
  ~Host() { bandana_device_free(device_); }
  Host(const Host&) = delete;

  // The handle.
  std::string Select(const std::vector<double>& features) {
    const std::string user = "user" + std::to_string(++decision_ % 10);
    bandana_arms arms = {};
    arms.size = sizeof arms;
    arms.features = features.data();
    arms.features_count = features.size();
    bandana_request request = {};
    request.size = sizeof request;
    request.top_k = 1;
    request.user = BytesOf(user);
    request.arms = &arms;
    BANDANA_CHECK(bandana_select(device_, client_, &request, 3) == BANDANA_OK);
    AnswerCalls();
    return handle_;
  }
  void Report(const std::string& handle) {
    bandana_report_of report = {};
    report.size = sizeof report;
    report.handle = BytesOf(handle);
    report.reward = 1;
    BANDANA_CHECK(bandana_report(device_, client_, &report, 4) == BANDANA_OK);
    AnswerCalls();
  }
  void Pass(std::int64_t nanos) {
    now_ += nanos;
    BANDANA_CHECK(bandana_wake(device_) == BANDANA_OK);
    AnswerCalls();
  }
  std::int64_t reports() const { return reports_; }

 private:
  struct Asked {
    std::uint64_t id;
    std::string path;
    std::string message;
  };
  static Host& Of(void* self) { return *static_cast<Host*>(self); }

  static std::string Framed(const std::string& message) {
    constexpr std::string_view kTrailers = "grpc-status: 0\r\n";
    std::string body;
    const auto frame = [&](char flags, std::string_view content) {
      body += flags;
      for (const int shift : {24, 16, 8, 0}) body += static_cast<char>(content.size() >> shift);
      body += content;
    };
    frame(0, message);
    frame('\x80', kTrailers);
    return body;
  }

  void Call(const bandana_call& call) {
    const std::string_view body(static_cast<const char*>(call.body.data), call.body.size);
    calls_.push_back({call.id, call.path, std::string(body.substr(5))});
  }
  void AnswerCalls() {
    while (!calls_.empty()) {
      const Asked call = std::move(calls_.front());
      calls_.pop_front();
      const double before = ProcessorSeconds();
      const std::string body = AnswerTo(call);
      host_seconds_ += ProcessorSeconds() - before;
      bandana_answer_of_call answer = {};
      answer.size = sizeof answer;
      answer.http_status = 200;
      answer.body = BytesOf(body);
      BANDANA_CHECK(bandana_answer(device_, call.id, &answer) == BANDANA_OK);
    }
  }
  std::string AnswerTo(const Asked& call) {
    if (call.path.ends_with("/GetModel")) return model_;
    if (call.path.ends_with("/Submit")) {
      v1::SubmitRequest request;
      BANDANA_CHECK(request.ParseFromString(call.message));
      reports_ += request.reports_size();
      v1::SubmitResponse response;
      for (int i = 0; i < request.reports_size(); ++i) {
        response.add_results()->set_code(v1::APPLIED);
      }
      return Framed(response.SerializeAsString());
    }
    BANDANA_CHECK(call.path.ends_with("/Select"));
    v1::SelectResponse response;
    response.add_positions(0);
    for (auto* list : {response.mutable_scores(), response.mutable_means(),
                       response.mutable_widths(), response.mutable_propensities()}) {
      list->Add(0.5F);
    }
    response.set_token("token" + std::to_string(decision_));
    return Framed(response.SerializeAsString());
  }
  void Told(const bandana_result& result) {
    if (result.kind == BANDANA_DELIVERED) return;
    BANDANA_CHECK(result.code == BANDANA_OK);
    if (result.kind == BANDANA_CONNECTED) client_ = result.client;
    if (result.kind != BANDANA_SELECTED) return;
    const bandana_bytes& handle = result.selections[0].handle;
    handle_.assign(static_cast<const char*>(handle.data), handle.size);
  }

 public:
  // That answers took, which a server makes.
  double host_seconds() const { return host_seconds_; }

 private:
  const std::string model_;
  std::int64_t now_ = 5 * kSecond;
  bandana_device device_ = 0;
  bandana_client client_ = 0;
  std::deque<Asked> calls_;
  std::string handle_;
  std::int64_t decision_ = 0;
  std::int64_t reports_ = 0;
  double host_seconds_ = 0;
};

// Processor time of what was run, without that of answers.
class Meter {
 public:
  explicit Meter(const Host& host) : host_(host) {}
  template <typename Work>
  void Run(Work work) {
    const double before = ProcessorSeconds() - host_.host_seconds();
    work();
    seconds_ += ProcessorSeconds() - host_.host_seconds() - before;
  }
  double seconds() const { return seconds_; }

 private:
  const Host& host_;
  double seconds_ = 0;
};

int Main() {
  const int decisions = absl::GetFlag(FLAGS_decisions);
  const int waiting = absl::GetFlag(FLAGS_waiting);
  const int dimension = absl::GetFlag(FLAGS_dimension);
  BANDANA_CHECK(decisions >= 1 && waiting >= 1 && dimension >= 1);
  Host host(WindowModel(dimension));
  std::vector<double> features(absl::GetFlag(FLAGS_arms) * dimension);
  for (std::size_t i = 0; i < features.size(); i += dimension + 1) features[i] = 0.5;
  Meter select(host), report(host), close(host);
  std::vector<std::string> handles;
  for (int i = 0; i < decisions; ++i) {
    select.Run([&] { handles.push_back(host.Select(features)); });
    if (handles.size() < static_cast<std::size_t>(waiting) && i + 1 < decisions) continue;
    report.Run([&] {
      for (const std::string& handle : handles) host.Report(handle);
    });
    handles.clear();
    // Windows close, jitter ends, reports leave.
    close.Run([&] {
      for (int wakes = 0; wakes < 100 && host.reports() < i + 1; ++wakes) host.Pass(kSecond);
    });
  }
  BANDANA_CHECK(host.reports() == decisions);
  const auto micros = [&](const Meter& meter) { return 1e6 * meter.seconds() / decisions; };
  std::printf("%d decisions among %d arms of %d features, %d windows open at once\n", decisions,
              absl::GetFlag(FLAGS_arms), dimension, waiting);
  std::printf("select=%.1f\nreport=%.1f\nclose=%.1f\ndecision=%.1f\n", micros(select),
              micros(report), micros(close), micros(select) + micros(report) + micros(close));
  return 0;
}

}  // namespace
}  // namespace bandana::bench

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  return bandana::bench::Main();
}
