// How wide the widths of models of effects are, against the exact joint posterior of small worlds:
//   ./dev bench effects_calibration [--worlds 2000 --seed 1]
// A line per world and learner: the squared error of the mean as a multiple of that of the exact
// posterior under the world's own scales, the mean of z^2 under the width, and the share of
// predictions more than 1.96 widths off.
#include <Eigen/Dense>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "common/bandits/effects/effects_model.h"
#include "tools/environments/random.h"

ABSL_FLAG(int, worlds, 2000, "of each kind");
ABSL_FLAG(std::uint64_t, seed, 1, "of the worlds");

namespace bandana::bench {
namespace {

constexpr int kDimension = 4;
constexpr int kGroups = 3;
constexpr int kUsers = 12;
constexpr int kArms = 6;
constexpr int kEvents = 1200;
constexpr int kSkipped = 200;  // events before the first prediction that counts
constexpr double kNoise = 0.1;
constexpr double kDeclared[] = {0.1, 0.08, 0.02, 0.05};  // shared, group, user, arm

// By how much the scales of a world differ from the declared ones.
struct Kind {
  const char* name;
  double factor[4];
};
constexpr Kind kKinds[] = {{"as_declared", {1, 1, 1, 1}},
                           {"groups_say_nothing", {1, 0, 1, 1}},
                           {"arms_say_four_times_as_much", {1, 1, 1, 4}},
                           {"a_quarter_of_everything", {0.25, 0.25, 0.25, 0.25}}};

std::vector<Effect> Effects() {
  return {{"shared", true, kDeclared[0]},
          {"group", true, kDeclared[1]},
          {"user", true, kDeclared[2]},
          {"arm", false, kDeclared[3]}};
}

struct Event {
  std::vector<EffectKey> keys;
  std::vector<double> x;
  double expected = 0;
  double reward = 0;
};

std::vector<Event> EventsOf(const Kind& kind, std::uint64_t number) {
  SeededStream stream(absl::GetFlag(FLAGS_seed), StreamPurpose::kUserParameter, number);
  const auto draw = [&](int effect, int n) {
    std::vector<double> values(n);
    for (double& value : values) {
      value = std::sqrt(kDeclared[effect] * kind.factor[effect]) * stream.Normal();
    }
    return values;
  };
  const auto shared = draw(0, kDimension);
  const auto group = draw(1, kGroups * kDimension);
  const auto user = draw(2, kUsers * kDimension);
  const auto arm = draw(3, kArms);
  std::vector<Event> events(kEvents);
  for (Event& event : events) {
    const auto u = stream.Below(kUsers);
    const auto g = u % kGroups;
    const auto a = stream.Below(kArms);
    event.keys = {2, g + 2, u + 2, a + 2};
    double square = 0;
    for (int i = 0; i < kDimension; ++i) event.x.push_back(stream.Normal());
    for (const double value : event.x) square += value * value;
    event.expected = arm[a];
    for (int i = 0; i < kDimension; ++i) {
      event.x[i] /= std::sqrt(square);
      event.expected +=
          event.x[i] * (shared[i] + group[g * kDimension + i] + user[u * kDimension + i]);
    }
    event.reward = event.expected + std::sqrt(kNoise) * stream.Normal();
  }
  return events;
}

// The exact posterior of all coefficients, under scales that are the declared ones times `factor`.
class Exact {
 public:
  explicit Exact(const double (&factor)[4]) {
    covariance_.setZero(kSize, kSize);
    mean_.setZero(kSize);
    for (int i = 0; i < kSize; ++i) {
      const int effect = i < kDimension ? 0 : i < kUserAt ? 1 : i < kArmAt ? 2 : 3;
      covariance_(i, i) = kDeclared[effect] * factor[effect];
    }
  }
  EffectsModel::Belief Learn(const Event& event) {
    Eigen::VectorXd z = Eigen::VectorXd::Zero(kSize);
    for (int i = 0; i < kDimension; ++i) {
      z[i] = event.x[i];
      z[kDimension + static_cast<int>(event.keys[1] - 2) * kDimension + i] = event.x[i];
      z[kUserAt + static_cast<int>(event.keys[2] - 2) * kDimension + i] = event.x[i];
    }
    z[kArmAt + static_cast<int>(event.keys[3] - 2)] = 1;
    const Eigen::VectorXd y = covariance_ * z;
    const EffectsModel::Belief belief{.mean = z.dot(mean_), .variance = z.dot(y)};
    mean_ += y * ((event.reward - belief.mean) / (kNoise + belief.variance));
    covariance_ -= y * y.transpose() / (kNoise + belief.variance);
    return belief;
  }

 private:
  static constexpr int kUserAt = kDimension * (1 + kGroups);
  static constexpr int kArmAt = kUserAt + kDimension * kUsers;
  static constexpr int kSize = kArmAt + kArms;
  Eigen::VectorXd mean_;
  Eigen::MatrixXd covariance_;
};

struct Figures {
  double squares = 0;
  double z2 = 0;
  double beyond = 0;
  void Add(const EffectsModel::Belief& belief, double expected) {
    const double square = std::pow(belief.mean - expected, 2);
    squares += square;
    z2 += square / belief.variance;
    beyond += square > 1.96 * 1.96 * belief.variance ? 1 : 0;
  }
};

int Main() {
  const char* const names[] = {"exact_own_scales", "exact_declared", "one_pass", "learnt_scales",
                               "weights"};
  constexpr EffectsAdapt kAdapts[] = {{}, {.scales = true}, {.weights = true}};
  constexpr double kAsDeclared[4] = {1, 1, 1, 1};
  const int worlds = absl::GetFlag(FLAGS_worlds);
  for (const Kind& kind : kKinds) {
    Figures figures[std::size(names)];
    for (int world = 0; world < worlds; ++world) {
      Exact own(kind.factor);
      Exact declared(kAsDeclared);
      std::vector<EffectsModel> models;
      for (const EffectsAdapt adapt : kAdapts) {
        models.push_back(
            *EffectsModel::Create(kDimension, Effects(), kNoise, EffectsModel::kUnbounded, adapt));
      }
      int number = 0;
      for (const Event& event : EventsOf(kind, static_cast<std::uint64_t>(world))) {
        const bool counts = number++ >= kSkipped;
        const auto add = [&](std::size_t learner, const EffectsModel::Belief& belief) {
          if (counts) figures[learner].Add(belief, event.expected);
        };
        add(0, own.Learn(event));
        add(1, declared.Learn(event));
        for (std::size_t m = 0; m < models.size(); ++m) {
          add(2 + m, models[m].Predict(event.keys, event.x));
          models[m].Learn(event.keys, event.x, event.reward, 0);
        }
      }
    }
    const double count = static_cast<double>(worlds) * (kEvents - kSkipped);
    for (std::size_t i = 0; i < std::size(names); ++i) {
      std::printf("world=%s learner=%s error=%.3f z2=%.3f beyond=%.4f\n", kind.name, names[i],
                  figures[i].squares / figures[0].squares, figures[i].z2 / count,
                  figures[i].beyond / count);
    }
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace bandana::bench

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  return bandana::bench::Main();
}
