// Whoever calls a world's server without the SDK: other users and tools that read, and an
// application that reports what it is told.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bandana/v1/recommender.pb.h"
#include "tools/audit/transcript/recorder.h"
#include "tools/audit/transcript/scenario.h"
#include "tools/audit/transcript/timeline.h"
#include "tools/audit/transcript/world_server.h"

namespace bandana::audit {

// Not thread-safe.
class Visitors {
 public:
  // `asked`: the name that they ask by. All must outlive it.
  Visitors(const Scenario& scenario, const std::vector<Choice>& choices, std::string asked,
           Timeline& timeline, Recorder& recorder);

  // The server that they call from now on.
  void Attach(WorldServer* server) { server_ = server; }
  // Asks everything that other users, and operators, can ask.
  void Read();

  // An application's decision; `decided` once it has its answer.
  void Select(int index, const std::function<void()>& decided);
  // Somebody else's of the same principal, who guesses the name of that one and asks as the first
  // world does.
  void Guess(int index);
  // Its report. The call that is the target's reaction is its user's own: of that, nothing is
  // compared but what others see.
  void Report(int index, const Reaction& reaction, bool is_reaction);

 private:
  void AskAll(const std::string& name);
  template <typename Response, typename Request>
  void Ask(const std::string& name, const Request& request);
  v1::SelectRequest RequestOf(const Choice& choice) const;
  void Activate(int index);
  const Asking& Asks() const { return *scenario_.combination->asking; }

  const Scenario& scenario_;
  const std::vector<Choice>& choices_;
  const std::string asked_;
  Timeline& timeline_;
  Recorder& recorder_;
  WorldServer* server_ = nullptr;
  std::vector<std::string> tokens_;  // by choice
};

}  // namespace bandana::audit
