// The device of one world: the real SDK over a stepped store, simulated time and a simulated
// network.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "bandana/client.h"
#include "client/src/client_impl.h"
#include "client/src/seams.h"
#include "client/src/store/store.h"
#include "common/design/model_spec.h"
#include "tools/audit/transcript/mutants.h"
#include "tools/audit/transcript/network.h"
#include "tools/audit/transcript/recorder.h"
#include "tools/audit/transcript/scenario.h"
#include "tools/audit/transcript/seeded_bits.h"
#include "tools/audit/transcript/timeline.h"

namespace bandana::audit {

// How draws are made in the two passes of the audit.
enum class Draws {
  kBlind,  // from the default, whatever is held: both worlds release the same
  kReal    // from what is held, which is noted
};

struct WorldDeviceOptions {
  const Scenario* scenario = nullptr;
  std::string folder;  // made when missing
  Draws draws = Draws::kBlind;
  const Mutant* mutant = nullptr;
};

// Not thread-safe.
class WorldDevice {
 public:
  WorldDevice(const WorldDeviceOptions& options, Timeline& timeline, Network& network,
              Recorder& recorder);
  ~WorldDevice();

  // Opens the store and the client. Errors: theirs.
  absl::Status Start(const PublicSpec& spec, std::uint64_t epoch);
  // Ends the client and closes the store.
  void Stop();
  // Ends the process at once: what is durable stays, nothing more is sent. Errors: UNAVAILABLE I/O.
  absl::Status Kill();
  bool running() const { return client_ != nullptr; }
  // The application comes to the front.
  void Begin() { client_->Begin(); }

  void Select(const Choice& choice, std::function<void(absl::StatusOr<Selection>)> done);
  // `taken`: the reaction counts; it may come later, or never.
  void Report(const Selection& selection, const Reaction& reaction, std::function<void()> taken);
  void Refresh(const std::string& user);
  // Runs what waits for the store.
  void Step();

  SimulatedClock& clock() { return clock_; }
  void FailDraws(bool failing) { bits_.set_failing(failing); }
  // Rows and files of the store, its write-ahead log truncated.
  absl::Status RecordStore();

 private:
  // Runs `task` when no start is under way, which takes simulated time.
  void AfterStart(Timeline::Task task);
  void SelectHere(const Choice& choice, const std::function<void(absl::StatusOr<Selection>)>& done);
  bool IsShownLater(const Choice& choice) const;
  void SelectDeferred(const Choice& choice,
                      const std::function<void(absl::StatusOr<Selection>)>& done);
  bool ActivatesAtReaction() const {
    return options_.mutant != nullptr && options_.mutant->activates_at_reaction;
  }
  void Activate(const Selection& selection, std::function<void(absl::Status)> activated);
  std::string path() const { return folder_ + "/store"; }
  device::Seams MakeSeams();
  // Whether the client that is made now begins with a start, for which it asks for the model first,
  // as device::Connect does it.
  absl::StatusOr<bool> AsksForModel(device::Transport& transport, const std::string& model);

  const WorldDeviceOptions options_;
  Timeline& timeline_;
  Network& network_;
  Recorder& recorder_;
  std::string folder_;
  int lives_ = 0;
  SimulatedClock clock_;
  SeededBits bits_;  // of draws
  std::shared_ptr<device::Store> store_;
  std::unique_ptr<device::ClientImpl> client_;
};

}  // namespace bandana::audit
