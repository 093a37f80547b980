#include "tests/vectors/paths.h"

#include <limits>
#include <random>
#include <vector>

#include "tests/support/fake_recommender.h"
#include "tests/vectors/json.h"
#include "tests/vectors/path_host.h"

namespace bandana::vectors {
namespace {

using testing::LocalSpec;
using testing::WindowSpec;

constexpr absl::Duration kWindow = absl::Seconds(10);

PublicSpec Windowed() { return WindowSpec(kWindow, 0); }
PublicSpec Hybrid() {
  PublicSpec spec = Windowed();
  spec.epsilon = {2};
  return spec;
}
PublicSpec Centred() {
  PublicSpec spec = Hybrid();
  spec.mechanism = MechanismId::kCentredRandomizer;
  spec.reward_window->default_reward = 0.5;
  return spec;
}

// The server closes its windows.
PublicSpec Central() {
  PublicSpec spec = Windowed();
  spec.mode = Mode::kCentralReward;
  spec.reward_window->grace = absl::Seconds(20);
  spec.events_per_user_max = 4;
  return spec;
}
PublicSpec WithoutPrivacy() {
  PublicSpec spec = testing::RawSpec();
  spec.one_per_decision = false;
  spec.reward_window = RewardWindowSpec{kWindow, 0};
  return spec;
}

void Connected(PathHost& host) {
  host.Start();
  host.Connect();
  host.Answer();
}
void Selected(PathHost& host, const std::string& user) {
  host.Select(user);
  host.Answer();
}

std::string Play(PathHost::Options options, void (*play)(PathHost&)) {
  PathHost host(std::move(options));
  play(host);
  return host.Json();
}

void InAWindow(PathHost& host) {
  Connected(host);
  Selected(host, "ann");
  host.Wake(kWindow / 2);
  host.Report(0, 1.0);
  host.WakeWhenAsked();
  host.WakeWhenAsked();
  host.Answer();
}
void WithoutAReaction(PathHost& host) {
  Connected(host);
  Selected(host, "ann");
  host.WakeWhenAsked();
  host.Answer();
}
// Reactions twice, after the close, of nobody; overdue decisions leave in their order.
void Overdue(PathHost& host) {
  Connected(host);
  for (const char* user : {"ann", "bob", "cid"}) {
    Selected(host, user);
    host.Wake(absl::Seconds(1));
  }
  host.Report(1, 0.25);
  host.Report(1, 0.75);  // the first one stands
  host.Wake(absl::Hours(1));
  host.Report(2, 1.0);  // too late
  host.Answer();
}
void AtOnce(PathHost& host) {
  Connected(host);
  for (int i = 0; i < 3; ++i) {
    Selected(host, "ann");
    host.Report(i, i == 1 ? std::optional<double>() : std::optional(i * 0.5));
    host.Answer();
  }
}
void Retried(PathHost& host) {
  Connected(host);
  Selected(host, "ann");
  host.WakeWhenAsked();
  host.Fail(absl::StatusCode::kUnavailable);
  host.WakeWhenAsked();
  host.Fail(absl::StatusCode::kResourceExhausted, absl::Seconds(3));
  host.WakeWhenAsked();
  host.Lose();
  host.WakeWhenAsked();
  host.WakeWhenAsked();
  host.Answer(/*twice=*/true);
  host.Answer();
}
void Split(PathHost& host) {
  Connected(host);
  Selected(host, "ann");
  Selected(host, "bob");
  host.Wake(absl::Minutes(1));
  host.Fail(absl::StatusCode::kInvalidArgument);
  host.Answer();
  host.Fail(absl::StatusCode::kInvalidArgument);
}
void Crashed(PathHost& host) {
  Connected(host);
  Selected(host, "ann");
  host.Report(0, 1.0);
  host.Crash();
  host.Connect();
  host.Answer();
  host.WakeWhenAsked();
  host.Crash();  // drawn and sent, but not answered
  host.Connect();
  host.Answer();
  host.WakeWhenAsked();
  host.Answer();
  host.WakeWhenAsked();
}
void FailedCommits(PathHost& host) {
  Connected(host);
  host.FailCommits(true);
  Selected(host, "ann");  // no row, no event
  host.FailCommits(false);
  Selected(host, "ann");
  host.FailCommits(true);
  host.WakeWhenAsked();
  host.FailCommits(false);
  host.WakeWhenAsked();
  host.Answer();
}
void HeldCommit(PathHost& host) {
  Connected(host);
  Selected(host, "ann");
  host.HoldCommits();
  host.Wake(2 * kWindow);
  host.AnswerCommit(true);
  host.Answer();
}
void NoEntropy(PathHost& host) {
  Connected(host);
  Selected(host, "ann");
  host.FailEntropy(true);
  host.Wake(2 * kWindow);
  host.FailEntropy(false);
  host.WakeWhenAsked();
  host.Answer();
}
void UsedUp(PathHost& host) {
  Connected(host);
  for (int i = 0; i < 3; ++i) Selected(host, "ann");
  Selected(host, "bob");
  host.Wake(absl::Minutes(1));
  host.Answer();
  host.Crash();
  host.Connect();
  host.Answer();
  Selected(host, "ann");
}
void AnotherPolicy(PathHost& host) {
  Connected(host);
  Selected(host, "ann");
  host.Report(0, 1.0);
  Selected(host, "bob");
  host.Select("cid");
  host.Fail(absl::StatusCode::kFailedPrecondition);
  PublicSpec other = Windowed();
  other.epsilon = {0.5};
  host.AnswerModel(other);
  host.Wake(absl::Minutes(1));
  host.Select("ann");
}
void TooWeak(PathHost& host) {
  host.Start();
  host.Connect();
  PublicSpec other = Windowed();
  other.epsilon = {2.5};
  host.AnswerModel(other);
}
void Slots(PathHost& host) {
  Connected(host);
  host.SelectSlots("ann", 3);
  host.Answer();
  host.Report(1, 1.0);
  host.WakeWhenAsked();
  host.Answer();
  host.SelectSlots("ann", 3);  // two events are left
}
void Deferred(PathHost& host) {
  Connected(host);
  host.SelectDeferred("ann");
  host.Answer();
  host.SelectDeferred("ann");
  host.Answer();
  host.Report(0, 1.0);  // no event yet
  host.Wake(absl::Seconds(2));
  host.Activate(0);
  host.Activate(0);
  host.Report(0, 1.0);
  host.WakeWhenAsked();
  host.Answer();
}
void ClockWentBack(PathHost& host) {
  Connected(host);
  Selected(host, "ann");
  host.Wake(kWindow / 2);
  host.SetWall(-absl::Hours(24 * 365));
  host.Report(0, 1.0);
  host.WakeWhenAsked();
  host.WakeWhenAsked();
  host.Answer();
}
void AtStart(PathHost& host) {
  Connected(host);
  Selected(host, "ann");
  host.Report(0, 1.0);
  host.Wake(absl::Minutes(1));  // nothing leaves
  host.Crash();
  host.Connect();
  host.Answer();
  host.Answer();
  Selected(host, "ann");
  host.Begin();  // inside a window: the process must not be noticed
  host.Wake(absl::Minutes(1));
  host.Begin();
  host.Answer();
  host.Answer();
}
void PutBack(PathHost& host) {
  Connected(host);
  host.Remember();
  Selected(host, "ann");
  host.WakeWhenAsked();
  host.CrashIntoRemembered();
  host.Connect();
  host.Answer();
  Selected(host, "ann");
}
void Closed(PathHost& host) {
  Connected(host);
  Selected(host, "ann");
  host.Close();
  host.Wake(absl::Minutes(1));
  host.Connect();
  host.Answer();
  host.WakeWhenAsked();
  host.Answer();
}

// The arm that was shown leaves when the report is due, for its token; the token is durable before
// the report goes out with it.
void OnDevice(PathHost& host) {
  Connected(host);
  host.RefreshPosterior("ann");
  host.Fail(absl::StatusCode::kUnimplemented);  // the model has no effects of arms
  host.Answer();
  host.SelectOnDevice("ann");
  host.SelectOnDevice("ann");
  host.Report(0, 1.0);
  host.WakeWhenAsked();
  host.WakeWhenAsked();
  while (host.waits()) host.Answer();
}
void TokenOutlives(PathHost& host) {
  Connected(host);
  host.RefreshPosterior("ann");
  host.Fail(absl::StatusCode::kUnimplemented);  // the model has no effects of arms
  host.Answer();
  host.SelectOnDevice("ann");
  host.WakeWhenAsked();
  host.Fail(absl::StatusCode::kUnavailable);
  host.WakeWhenAsked();
  host.Answer();  // the token; its report is on the way
  host.Crash();
  host.Connect();
  host.Answer();
  host.WakeWhenAsked();
  host.Answer();
}

// The second answer is late: something else was shown.
void ShownOrLate(PathHost& host) {
  Connected(host);
  host.SelectDeferred("ann");
  host.Answer();
  host.Activate(0);
  host.Activate(0);
  host.SelectDeferred("ann");
  host.Answer();  // to Activate
  host.Answer();
  host.Wake(kWindow / 2);
  host.Report(0, 1.0);
  host.WakeWhenAsked();
  host.WakeWhenAsked();
  host.Answer();
}
void ActivatedLate(PathHost& host) {
  Connected(host);
  host.SelectDeferred("ann");
  host.Answer();
  host.Report(0, 1.0);  // no event yet
  host.Activate(0);
  host.Fail(absl::StatusCode::kUnavailable);
  host.WakeWhenAsked();
  host.Lose();
  host.Report(0, 0.25);
  host.Wake(absl::Minutes(1));
  host.WakeWhenAsked();
  host.Answer();
  host.Answer();
}
void ActivationOutlives(PathHost& host) {
  Connected(host);
  host.SelectDeferred("ann");
  host.Answer();
  host.Activate(0);
  host.Crash();
  host.Connect();
  host.Answer();
  host.Wake(absl::Minutes(1));
  host.Answer();
  host.Answer();
  host.Crash();
  host.Connect();
  host.Answer();
}
void FailedActivation(PathHost& host) {
  Connected(host);
  host.SelectDeferred("ann");
  host.Answer();
  host.FailCommits(true);
  host.Activate(0);  // no event
  host.FailCommits(false);
  host.Activate(0);
  host.Answer();
  host.WakeWhenAsked();
  host.Answer();
}

}  // namespace

std::string Paths1() {
  constexpr auto kAtStart = ClientOptions::Leave::kAtStart;
  const std::vector<std::string> paths = {
      Play({.name = "a window with a reaction", .spec = Hybrid()}, InAWindow),
      Play({.name = "a window without one", .spec = Hybrid()}, WithoutAReaction),
      Play({.name = "a window that is centred", .spec = Centred()}, InAWindow),
      Play({.name = "overdue windows", .spec = Windowed()}, Overdue),
      Play({.name = "reports at once", .spec = LocalSpec()}, AtOnce),
      Play({.name = "retries", .spec = Windowed()}, Retried),
      Play({.name = "a batch that is split", .spec = Windowed()}, Split),
      Play({.name = "crashes", .spec = Windowed()}, Crashed),
      Play({.name = "commits that fail", .spec = Windowed()}, FailedCommits),
      Play({.name = "a commit that is not answered", .spec = Windowed()}, HeldCommit),
      Play({.name = "entropy that fails", .spec = Windowed()}, NoEntropy),
      Play({.name = "a budget that is used up", .spec = Windowed(), .events_per_user_max = 2},
           UsedUp),
      Play({.name = "another policy", .spec = Windowed()}, AnotherPolicy),
      Play({.name = "a policy that is too weak", .spec = Windowed()}, TooWeak),
      Play({.name = "slots", .spec = Windowed(), .events_per_user_max = 5}, Slots),
      Play({.name = "deferred decisions", .spec = Windowed()}, Deferred),
      Play({.name = "a clock that goes back", .spec = Windowed()}, ClockWentBack),
      Play({.name = "reports that leave at starts", .spec = Windowed(), .leave = kAtStart},
           AtStart),
      Play({.name = "rows that were put back", .spec = Windowed(), .events_per_user_max = 3},
           PutBack),
      Play({.name = "a client that is closed", .spec = Windowed()}, Closed),
  };
  return File("paths", 1, {{"paths", paths}});
}

std::string Paths2() {
  const std::vector<std::string> paths = {
      Play({.name = "ranked on the device, in a window", .spec = Windowed()}, OnDevice),
      Play({.name = "ranked on the device, reported at once", .spec = LocalSpec()}, OnDevice),
      Play({.name = "a fetched token outlives the process", .spec = Windowed()}, TokenOutlives),
  };
  return File("paths", 2, {{"paths", paths}});
}

std::string Paths3() {
  const auto path = [](std::string name, PublicSpec spec, void (*play)(PathHost&)) {
    return Play({.name = std::move(name),
                 .spec = std::move(spec),
                 .epsilon_max = std::numeric_limits<double>::infinity(),
                 .accepts_anything = true},
                play);
  };
  const std::vector<std::string> paths = {
      path("shown in time, and late, where the server closes windows", Central(), ShownOrLate),
      path("shown in time, and late, without privacy", WithoutPrivacy(), ShownOrLate),
      path("a report waits for the answer to Activate", Central(), ActivatedLate),
      path("an activation outlives the process", Central(), ActivationOutlives),
      path("an activation whose commit fails", Central(), FailedActivation),
  };
  return File("paths", 3, {{"paths", paths}});
}

std::string RandomPath(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const PublicSpec specs[] = {Windowed(), Hybrid(), Centred(), LocalSpec()};
  PathHost::Options options{.name = "schedule " + std::to_string(seed),
                            .spec = specs[random() % std::size(specs)]};
  options.events_per_user_max = random() % 3 == 0 ? 4 : 0;
  const bool windowed = options.spec.reward_window.has_value();
  if (windowed && random() % 4 == 0) options.leave = ClientOptions::Leave::kAtStart;
  options.reports_per_delivery_max = random() % 2 == 0 ? 2 : 32;
  PathHost host(options);
  host.Start();
  host.Connect();
  bool failing = false;
  for (int i = 0; i < 80; ++i) {
    const std::uint64_t roll = random() % 100;
    const auto user = std::string(1, static_cast<char>('a' + random() % 3));
    if (roll < 30) {
      host.Answer();
    } else if (roll < 45) {
      host.Select(user);
    } else if (roll < 60) {
      if (host.selections() > 0) {
        host.Report(static_cast<int>(random() % static_cast<std::uint64_t>(host.selections())),
                    random() % 4 == 0 ? std::optional<double>()
                                      : std::optional(static_cast<double>(random() % 9) / 8));
      }
    } else if (roll < 72) {
      host.WakeWhenAsked();
    } else if (roll < 78) {
      host.Wake(absl::Milliseconds(random() % 20'000));
    } else if (roll < 82) {
      host.Fail(random() % 2 == 0 ? absl::StatusCode::kUnavailable
                                  : absl::StatusCode::kInvalidArgument);
    } else if (roll < 85) {
      host.Lose();
    } else if (roll < 88) {
      host.SetWall(absl::Seconds(static_cast<int>(random() % 200) - 100));
    } else if (roll < 91) {
      failing = !failing;
      host.FailCommits(failing);
    } else if (roll < 93) {
      if (windowed) host.SelectSlots(user, 2);
    } else if (roll < 95) {
      host.Begin();
    } else if (!failing || !host.has_client()) {
      failing = false;
      host.FailCommits(false);
      host.Crash();
      host.Connect();
      host.Answer();
    }
  }
  return host.Json();
}

}  // namespace bandana::vectors
