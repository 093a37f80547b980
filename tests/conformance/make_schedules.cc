// Random schedules of a device, made once, as data: a step a line with what came of it on the core
// as it is compiled here. `make_schedules N SEED` prints N of them (README.md has the format).
#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "bandana/v1/recommender.pb.h"
#include "common/design/wire_messages.h"
#include "common/promise/mechanism.h"
#include "common/promise/public_spec.h"
#include "tests/conformance/schedule_host.h"
#include "tests/support/fake_recommender.h"
#include "tests/support/mechanisms.h"
#include "tests/vectors/json.h"

namespace bandana::conformance {
namespace {

using vectors::Hex;
using vectors::List;
using vectors::Signed;
using vectors::Text;
using vectors::Whole;

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr int kSteps = 60;

std::string Frame(char kind, const std::string& bytes) {
  std::string frame(1, kind);
  for (int shift = 24; shift >= 0; shift -= 8) {
    frame.push_back(static_cast<char>(bytes.size() >> shift & 0xff));
  }
  return frame + bytes;
}

std::string JsonOf(const Step& step, const std::vector<std::string>& lines) {
  std::vector<std::string> said, headers;
  for (const std::string& line : lines) said.push_back(Text(line));
  for (const auto& [name, value] : step.headers) headers.push_back(List({Text(name), Text(value)}));
  return List({Signed(step.wall_ns), Signed(step.elapsed_ns), Text(step.kind), Hex(step.text),
               Signed(step.number), Signed(step.second), Whole(step.bits), List(headers),
               List(said)});
}

class Maker {
 public:
  explicit Maker(std::uint64_t schedule)
      : random_(schedule), host_(schedule), spec_(Spec()), at_start_(Chance(0.3)) {}

  std::vector<std::string> Make() {
    Do({.kind = "open"});
    Connect();
    AnswerAll();
    for (int i = 0; i < kSteps; ++i) Next();
    // To the end: all that is due leaves.
    Do({.kind = "commits", .text = "stand"});
    Do({.kind = "entropy"});
    for (int i = 0; i < 6; ++i) {
      if (host_.holds_commit()) Do({.kind = "committed"});
      AnswerAll();
      Ring();
    }
    return std::move(json_);
  }

 private:
  std::int64_t Below(std::int64_t n) {
    return std::uniform_int_distribution<std::int64_t>(0, n - 1)(random_);
  }
  bool Chance(double p) { return std::bernoulli_distribution(p)(random_); }

  PublicSpec Spec() {
    PublicSpec spec = testing::WindowSpec(absl::Seconds(5 + Below(10)), Chance(0.5) ? 0.0 : 0.25);
    if (Chance(0.25)) spec.mechanism = MechanismId::kCentredRandomizer;
    if (Chance(0.25)) spec = testing::LocalSpec();
    return spec;
  }

  void Do(Step step) {
    step.wall_ns = wall_ns_;
    step.elapsed_ns = elapsed_ns_;
    json_.push_back(JsonOf(step, host_.Run(step)));
  }
  void Pass(std::int64_t nanos) {
    wall_ns_ += nanos;
    elapsed_ns_ += nanos;
  }
  void Ring() {
    if (host_.wake_ns() < 0) return Pass(kSecond);
    if (host_.wake_ns() > elapsed_ns_) Pass(host_.wake_ns() - elapsed_ns_);
    Do({.kind = "wake"});
  }
  void Connect() {
    const bool windows = spec_.reward_window.has_value();
    Do({.kind = "connect",
        .text = spec_.name,
        .number = at_start_ && windows ? 1 : 0,
        .second = Chance(0.2) ? 3 : 0,
        .bits = std::bit_cast<std::uint64_t>(Chance(0.95) ? 2.0 : 0.5)});
  }

  std::string MessageFor(const ScheduleHost::Call& call) {
    if (call.path.ends_with("/GetModel")) {
      v1::GetModelResponse response = testing::ModelMessage(spec_);
      response.set_epoch(epoch_);
      return response.SerializeAsString();
    }
    if (call.path.ends_with("/Select")) {
      v1::SelectRequest request;
      request.ParseFromString(call.message);
      v1::SelectResponse response;
      for (std::uint32_t i = 0; i < std::max<std::uint32_t>(request.slots(), 1); ++i) {
        response.add_positions(i);
        for (auto* list : {response.mutable_scores(), response.mutable_means(),
                           response.mutable_widths(), response.mutable_propensities()}) {
          list->Add(0.5);
        }
        const std::string token = "token " + std::to_string(++tokens_);
        request.slots() > 0 ? response.add_slot_tokens(token) : response.set_token(token);
        if (spec_.mechanism == MechanismId::kCentredRandomizer) {
          response.add_reward_windows(0.25);
          response.add_reward_windows(0.75);
        }
      }
      return response.SerializeAsString();
    }
    if (call.path.ends_with("/Submit")) {
      v1::SubmitRequest request;
      request.ParseFromString(call.message);
      v1::SubmitResponse response;
      for (int i = 0; i < request.reports_size(); ++i) {
        response.add_results()->set_code(Chance(0.8) ? v1::APPLIED
                                                     : static_cast<v1::OutcomeCode>(Below(6)));
      }
      return response.SerializeAsString();
    }
    return "";
  }
  void Answer(const ScheduleHost::Call& call, bool well) {
    Step step{.kind = "answer", .number = static_cast<std::int64_t>(call.id), .second = 200};
    step.text = Frame(0, MessageFor(call)) + Frame('\x80', "grpc-status: 0\r\n");
    if (well) return Do(step);
    switch (Below(9)) {
      case 0:
        Do(step);  // twice
        break;
      case 1:
        step.text.resize(
            static_cast<std::size_t>(Below(static_cast<std::int64_t>(step.text.size()))));
        break;
      case 2:
        step.text[static_cast<std::size_t>(Below(static_cast<std::int64_t>(step.text.size())))] ^=
            1;
        break;
      case 3:
        step.text = Frame('\x80', "grpc-status: 14\r\ngrpc-message: gone\r\n");
        break;
      case 4:
        step.text = Frame('\x80', "grpc-status: 8\r\ngrpc-retry-pushback-ms: 700\r\n");
        break;
      case 5:
        step.text.clear();
        step.headers = {{"grpc-status", "9"}, {"grpc-message", "the policy changed"}};
        break;
      case 6:
        step.text.clear();
        step.second = Chance(0.5) ? BANDANA_NO_ANSWER : BANDANA_TIMED_OUT;
        break;
      case 7:
        step.second = Chance(0.5) ? 503 : 401;
        break;
      default:
        step.number += 1000;  // to no call
        break;
    }
    Do(step);
  }
  void AnswerAll() {
    for (int i = 0; i < 20 && !host_.calls().empty(); ++i) {
      const ScheduleHost::Call call = host_.calls().front();
      Answer(call, true);
    }
  }

  std::string User() { return Chance(0.7) ? "ann" : "bob"; }
  std::int64_t Selection() { return Below(static_cast<std::int64_t>(host_.selections())); }

  void Next() {
    if (Chance(0.3)) Pass(Below(4 * kSecond));
    if (Chance(0.02)) wall_ns_ += (Below(400) - 200) * kSecond;
    if (host_.holds_commit() && Chance(0.5)) {
      return Do({.kind = "committed", .number = Chance(0.7) ? 0 : BANDANA_UNAVAILABLE});
    }
    if (!host_.calls().empty() && Chance(0.45)) {
      const ScheduleHost::Call call = host_.calls()[static_cast<std::size_t>(
          Below(static_cast<std::int64_t>(host_.calls().size())))];
      return Answer(call, Chance(0.8));
    }
    if (!host_.connected() && Chance(0.5)) return Connect();
    const std::int64_t kind = Below(100);
    if (kind < 22) return Do({.kind = "select", .text = User(), .second = BANDANA_SELECT});
    if (kind < 26) {
      return Do({.kind = "select", .text = User(), .number = 2, .second = BANDANA_SELECT_SLOTS});
    }
    if (kind < 30) return Do({.kind = "select", .text = User(), .second = BANDANA_SELECT_DEFERRED});
    if (kind < 32)
      return Do({.kind = "select", .text = User(), .second = BANDANA_SELECT_ON_DEVICE});
    if (kind < 55 && host_.selections() > 0) {
      constexpr double kRewards[] = {0, 1, 0.5, 7, -1};
      const double reward = Chance(0.1) ? std::numeric_limits<double>::quiet_NaN()
                                        : kRewards[Below(std::size(kRewards))];
      return Do(
          {.kind = "report", .number = Selection(), .bits = std::bit_cast<std::uint64_t>(reward)});
    }
    if (kind < 59 && host_.selections() > 0) {
      return Do({.kind = "activate", .number = Selection()});
    }
    if (kind < 75) return Ring();
    if (kind < 78) return Do({.kind = "open"});  // a crash
    if (kind < 81) return Do({.kind = "begin"});
    if (kind < 83) return Do({.kind = "flush"});
    if (kind < 86) return Do({.kind = "spent", .text = User()});
    if (kind < 88) return Do({.kind = "refresh", .text = User()});
    if (kind < 90) return Do({.kind = "close"});
    if (kind < 96) {
      constexpr const char* kModes[] = {"stand", "fail", "hold"};
      return Do({.kind = "commits", .text = kModes[Below(3)]});
    }
    if (kind < 98) return Do({.kind = "entropy", .number = Below(2)});
    spec_.epsilon.value = Chance(0.5) ? 1.5 : 2;  // the next answer has another policy
    epoch_ += static_cast<std::uint64_t>(Below(2));
    Do({.kind = "wake"});
  }

  std::mt19937_64 random_;
  ScheduleHost host_;
  PublicSpec spec_;
  const bool at_start_;
  std::int64_t wall_ns_ = 1'800'000'000 * kSecond;
  std::int64_t elapsed_ns_ = kSecond;
  int tokens_ = 0;
  std::uint64_t epoch_ = 0;
  std::vector<std::string> json_;
};

}  // namespace

int Main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: make_schedules N SEED\n");
    return 2;
  }
  const auto seed = std::strtoull(argv[2], nullptr, 10);
  for (std::uint64_t i = 0; i < std::strtoull(argv[1], nullptr, 10); ++i) {
    const std::uint64_t schedule = seed + i;
    std::printf("%s\n", List({Whole(schedule), vectors::List(Maker(schedule).Make())}).c_str());
  }
  return 0;
}

}  // namespace bandana::conformance

int main(int argc, char** argv) { return bandana::conformance::Main(argc, argv); }
