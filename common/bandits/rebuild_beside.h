// Component posteriors computed anew on a thread of their own, while events go on.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "common/bandits/component.h"
#include "common/bandits/effective.h"

namespace bandana {

// Recomputes posteriors from the statistics that components had when it began, and applies to them
// every change that came since, in the order and the batches of the posteriors in force. So what
// Take gives depends on statistics and changes alone, not on the time that anything took. Threads:
// one caller at a time.
class RebuildBeside {
 public:
  struct Job {
    int component = 0;
    std::shared_ptr<const ComponentPrior> prior;
    std::vector<EffectiveStatistics> statistics;  // by position in the component
  };
  // Starts. Each component has at most one job.
  RebuildBeside(std::vector<Job> jobs, const ComponentScale& scale);
  // Gives up what is not computed yet; waits for the computation of one component at most.
  ~RebuildBeside();
  RebuildBeside(const RebuildBeside&) = delete;
  RebuildBeside& operator=(const RebuildBeside&) = delete;

  // A batch that the posterior in force has taken (ComponentPosterior::Apply). Components without a
  // job are nobody's business here. Cost: a copy.
  void Apply(int component, std::span<const ComponentEvent> events);
  // As ComponentPosterior::Update.
  void Update(int component, int position, const EffectiveStatistics& old,
              const EffectiveStatistics& next);
  // The posterior in force was computed anew by other means: the job is not needed any more.
  void Drop(int component);

  struct Rebuilt {
    int component = 0;
    // Nothing where rounding has cost it its definiteness on the way: then Rebuild.
    std::optional<ComponentPosterior> posterior;
  };
  // Waits until all is computed, by component. Call once, and nothing after it.
  std::vector<Rebuilt> Take();

 private:
  struct Work {
    Job job;
    std::optional<ComponentPosterior> posterior;
  };
  // A batch of events; without events an update of one node.
  struct Change {
    int component = 0;
    std::vector<ComponentEvent> events{};
    std::vector<double> features{};  // of the events, one after another
    int position = 0;                // -1: the job is dropped
    EffectiveStatistics old{}, next{};
  };

  void Add(Change change);
  void Run();
  // Those that came since the last call; false: there are none, and none will come.
  bool Await(std::vector<Change>& changes);
  bool given_up() const;
  void Make(const Change& change);

  const ComponentScale scale_;
  std::map<int, Work> works_;  // of the thread, until it has ended
  ComponentScratch scratch_;

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Change> changes_;
  bool complete_ = false;
  bool given_up_ = false;
  std::thread thread_;
};

}  // namespace bandana
