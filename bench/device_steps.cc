// Steps a second of the device core on one thread: decisions with a reward window, a reaction to
// half of them, and the reports when their windows close, over SQLite in memory. The host answers
// every call at once. The last line is `steps_per_second=R`.
#include <chrono>
#include <cstdio>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "bandana/v1/recommender.pb.h"
#include "bench/window_model.h"
#include "client/core/device.h"
#include "client/src/store/open_tables.h"
#include "client/src/store/schema.h"
#include "client/src/store/store_key.h"
#include "common/base/check.h"
#include "common/design/wire_messages.h"

ABSL_FLAG(int, decisions, 20'000, "in all");
ABSL_FLAG(int, arms, 10, "to choose from");
ABSL_FLAG(int, dimension, 25, "of their features");

namespace bandana::bench {
namespace {

using device::Device;
using device::Method;

class Host {
 public:
  explicit Host(const PublicSpec& spec) : model_(ToProto(spec).SerializeAsString()) {
    auto database = device::OpenStoreInMemory();
    const auto keys = device::KeysInMemory();
    BANDANA_CHECK(database.ok() && keys.ok());
    auto opened = device::OpenTables(*std::move(database), *keys);
    BANDANA_CHECK(opened.ok());
    device_ = std::make_unique<Device>(std::move(opened->tables), &SystemBits(), nullptr);
    Step([&] {
      device_->Start(std::nullopt, [](const absl::Status& s) { BANDANA_CHECK(s.ok()); });
    });
    ClientOptions options;
    options.target = "host";
    options.model = spec.name;
    options.policy = PrivacyPolicy::AcceptAnything();
    Step([&] {
      device_->Connect(options, {.durable = true}, [this](absl::StatusOr<Device::ClientId> made) {
        BANDANA_CHECK(made.ok());
        client_ = *made;
      });
    });
  }

  void Decide(const std::vector<double>& features, bool reaction) {
    ++decision_;
    Step([&] {
      core().Select("user" + std::to_string(decision_ % 10), Arms::Inline(features), 1,
                    [&](absl::StatusOr<Selection> selection) {
                      BANDANA_CHECK(selection.ok());
                      if (reaction) reacted_.push_back(*std::move(selection));
                    });
    });
    while (!reacted_.empty()) {
      const Selection selection = std::move(reacted_.front());
      reacted_.pop_front();
      Step([&] {
        core().Report(
            selection, 1.0, std::nullopt, [](const absl::Status& s) { BANDANA_CHECK(s.ok()); },
            nullptr);
      });
    }
  }
  void Pass(absl::Duration time) {
    now_.wall += time;
    now_.elapsed += time;
    ++steps_;
    Take(device_->Wake(now_));
  }

  std::int64_t steps() const { return steps_; }
  std::int64_t reports() const { return reports_; }

 private:
  device::ClientCore& core() { return *device_->Find(client_); }
  void Step(const std::function<void()>& event) {
    ++steps_;
    Take(device_->Step(now_, event));
  }
  void Take(Device::Result result) {
    for (const auto& told : result.told) told();
    for (const Device::Call& call : result.calls) {
      const std::string answer = AnswerTo(call);
      Step([&] { device_->Answered(call.id, {}, answer); });
    }
  }
  std::string AnswerTo(const Device::Call& call) {
    if (call.method == Method::kGetModel) return model_;
    if (call.method == Method::kSubmit) {
      v1::SubmitRequest request;
      BANDANA_CHECK(request.ParseFromString(call.request));
      reports_ += request.reports_size();
      v1::SubmitResponse response;
      for (int i = 0; i < request.reports_size(); ++i) {
        response.add_results()->set_code(v1::APPLIED);
      }
      return response.SerializeAsString();
    }
    BANDANA_CHECK(call.method == Method::kSelect);
    v1::SelectResponse response;
    response.add_positions(0);
    for (auto* list : {response.mutable_scores(), response.mutable_means(),
                       response.mutable_widths(), response.mutable_propensities()}) {
      list->Add(0.5F);
    }
    response.set_token("token" + std::to_string(decision_));
    return response.SerializeAsString();
  }

  const std::string model_;

  Device::Now now_{.wall = absl::FromUnixSeconds(1'800'000'000), .elapsed = absl::Seconds(5)};
  std::unique_ptr<Device> device_;
  Device::ClientId client_ = 0;
  std::deque<Selection> reacted_;
  std::int64_t decision_ = 0;
  std::int64_t steps_ = 0;
  std::int64_t reports_ = 0;
};

int Main() {
  Host host(WindowModel(absl::GetFlag(FLAGS_dimension)));
  const std::vector<double> features(
      static_cast<std::size_t>(absl::GetFlag(FLAGS_arms)) * absl::GetFlag(FLAGS_dimension), 0.1);
  const int decisions = absl::GetFlag(FLAGS_decisions);
  const auto start = std::chrono::steady_clock::now();
  for (int n = 0; n < decisions; ++n) {
    host.Decide(features, n % 2 == 0);
    if (n % 100 == 99) host.Pass(absl::Seconds(1));
  }
  for (int i = 0; i < 100 && host.reports() < decisions; ++i) host.Pass(absl::Seconds(1));
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::printf("decisions %d, reports %lld, decisions per second %.0f\nsteps_per_second=%.0f\n",
              decisions, static_cast<long long>(host.reports()), decisions / seconds,
              static_cast<double>(host.steps()) / seconds);
  return host.reports() == decisions ? 0 : 1;
}

}  // namespace
}  // namespace bandana::bench

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  return bandana::bench::Main();
}
