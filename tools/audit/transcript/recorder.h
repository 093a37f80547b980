// The record of what the observers of one world saw, in order, and the comparison of two worlds.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "google/protobuf/message.h"

namespace bandana::audit {

enum class Observer {
  kServer,  // everything that a device sends
  kOthers,  // other users and operators' readers: answers, metrics, pages, logs, health
  kThief    // rows and sizes of what is stored
};
inline constexpr int kObservers = 3;
std::string_view ObserverName(Observer observer);

struct Field {
  Observer observer = Observer::kServer;
  int step = 0;   // of the scenario
  absl::Time at;  // simulated
  std::string name;
  std::string value;
  const google::protobuf::Message* prototype = nullptr;  // of a serialized message
};

// Not thread-safe.
class Recorder {
 public:
  // Begins a step: everything recorded from now on belongs to it.
  void Begin(int step) { step_ = step; }
  void Now(absl::Time at) { now_ = at; }

  void Text(Observer observer, std::string name, std::string value);
  void Number(Observer observer, std::string name, std::int64_t value);
  // Every line is a field.
  void Lines(Observer observer, std::string_view name, std::string_view text);
  void Message(Observer observer, std::string name, const google::protobuf::Message& message);
  // Notes that the difference has happened: a reaction was taken, a round was decided. Not
  // compared.
  void Differed() { differed_ = true; }
  bool differed() const { return differed_; }
  // A draw from `input` takes place: what comes after may depend on it.
  void Draw(std::string input) { draws_.push_back({fields_.size(), std::move(input)}); }

  const std::vector<Field>& fields() const { return fields_; }
  std::uint64_t leaves() const { return leaves_; }
  int step() const { return step_; }

 private:
  friend struct Comparison;
  friend std::size_t FirstReleaseIn(const Recorder& a, const Recorder& b);
  struct DrawMark {
    std::size_t position;  // of the next field
    std::string input;
  };

  int step_ = 0;
  absl::Time now_;
  std::vector<Field> fields_;
  std::vector<DrawMark> draws_;
  bool differed_ = false;
  std::uint64_t leaves_ = 0;  // fields of messages counted one by one
};

struct Difference {
  Observer observer = Observer::kServer;
  int step = 0;
  std::string field;
  std::string one, other;  // shortened
};

struct Comparison {
  // Recorded fields that were compared, by observer.
  std::array<std::uint64_t, kObservers> by_observer = {};
  std::uint64_t fields = 0;       // that were compared, those inside messages one by one
  std::uint64_t differences = 0;  // of recorded fields
  std::vector<Difference> first;

  // Up to `end` recorded fields of each.
  static Comparison Of(const Recorder& a, const Recorder& b, std::size_t end);
};

// How many fields were recorded before the first draw whose input differs: what two worlds must
// agree on although they draw for real.
std::size_t FirstReleaseIn(const Recorder& a, const Recorder& b);

}  // namespace bandana::audit
