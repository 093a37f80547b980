// Events of many users and arms by Zipf's law, and the model with the standard effects that learns
// them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/model/core.h"
#include "common/ranking/effect_key.h"
#include "tools/environments/random.h"

namespace bandana::bench {

// Numbers 0 .. n - 1 with probabilities proportional to 1 / (1 + number).
class ZipfLaw {
 public:
  explicit ZipfLaw(int n);
  int Draw(SeededStream& stream) const;

 private:
  std::vector<double> cumulative_;
};

struct ZipfOptions {
  int users = 1'000'000;
  int arms = 1'000'000;
  int dimension = 25;
  int levels = 8;       // nested groups of users: every level has half the groups of the one before
  int groups = 20'000;  // of the first level
  std::uint64_t seed = 1;
  bool weights = true;
  bool pairs = false;
};

struct ZipfEvent {
  std::vector<EffectKey> user;  // parts: the user, then the groups
  std::vector<EffectKey> arm;   // parts: the arm
  std::vector<double> x;        // unit norm
  double reward = 0;            // in [0, 1]
};

// A server's model of `effects { standard {} }` with the groups of the events.
ModelSpec ZipfModelSpec(const ZipfOptions& options);
// As above, as a state machine without disk.
std::unique_ptr<ModelCore> MakeZipfModel(const ZipfOptions& options);

// The entries of a log whose decisions come 1,000 per second and are reported at once.
class ZipfLog {
 public:
  // The entry of the event.
  std::string Outcome(const ZipfEvent& event);
  // Before each second's first event: the entry that says what time it is.
  bool due() const { return number_ % 1000 == 0; }
  std::string Time() const;

 private:
  absl::Time Now() const;
  std::uint64_t number_ = 0;
};

// A stream of events: user and arm are drawn apart, features are random directions.
class ZipfEvents {
 public:
  explicit ZipfEvents(const ZipfOptions& options);
  void Next(ZipfEvent& event);
  // Parts of a user and of an arm drawn by the same laws.
  void DrawUser(std::vector<EffectKey>& parts);
  void DrawArm(std::vector<EffectKey>& parts);
  void DrawFeatures(std::vector<double>& x);
  // The id of a user drawn by the same law; ids are the numbers below options.users.
  std::string DrawUserName();
  static std::string LevelName(int level);
  int GroupOf(int user, int level) const;

 private:
  ZipfOptions options_;
  ZipfLaw users_;
  ZipfLaw arms_;
  std::vector<std::vector<EffectKey>> group_keys_;  // by level
  SeededStream stream_;
};

}  // namespace bandana::bench
