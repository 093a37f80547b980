// The way between device and server: a peer that delays, drops, repeats, and answers what it likes.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "client/src/base/transport.h"
#include "common/design/model_spec.h"
#include "tools/audit/transcript/recorder.h"
#include "tools/audit/transcript/seeded_bits.h"
#include "tools/audit/transcript/timeline.h"
#include "tools/audit/transcript/world_server.h"

namespace bandana::audit {

// Outlives the transports that it makes. A call's fate is drawn when it is made, in the order of
// calls: worlds whose devices send equal calls see equal fates. Not thread-safe.
class Network {
 public:
  template <typename Response>
  using Answered = std::function<void(const device::Answer&, Response&)>;

  struct Options {
    std::uint64_t seed = 0;
    double trouble = 0;
    // Central modes, whose server may see rewards: they are left out of what is compared.
    bool rewards_are_the_servers = false;
    // Likewise contexts, and tokens, which hold them.
    bool contexts_are_the_servers = false;
    // GetModel is answered on the caller's stack, as where a client is made; selections meet no
    // trouble.
    bool prompt = false;
  };
  Network(const Options& options, Timeline& timeline, Recorder& recorder);

  // Where calls go; null while the server is down.
  void Attach(WorldServer* server) { server_ = server; }
  std::unique_ptr<device::Transport> MakeTransport();
  // From now on nothing leaves the device's transports, and their calls are never answered: the
  // process was killed.
  void Cut() { ++generation_; }

  // While set, calls are answered by the server at once, on the caller's stack: for the SDK's calls
  // that block.
  void set_at_once(bool at_once) { at_once_ = at_once; }
  void TickEpoch() { ++peers_epochs_; }
  void NamePolicy(std::optional<PublicSpec> policy) { policy_ = std::move(policy); }
  const std::optional<PublicSpec>& policy() const { return policy_; }
  // The model's epoch, as the device last heard it.
  std::uint64_t heard_epoch() const { return heard_epoch_; }
  // The model as GetModel would answer now.
  std::uint64_t EpochNow();

 private:
  class Link;
  struct Fate;

  Fate DrawFate();
  // The call of bytes as one of messages.
  template <typename Request, typename Response>
  void Typed(const std::shared_ptr<Link>& link, const std::string& bytes, device::OnAnswer done);
  template <typename Request, typename Response>
  void Start(const std::shared_ptr<Link>& link, const Request& request, Answered<Response> done);
  template <typename Request, typename Response>
  void Arrive(const Request& request, const Fate& fate,
              std::function<void(device::Answer, Response&)> answered);
  template <typename Response>
  void Hear(Response& response);
  template <typename Response>
  void Falsify(const Fate& fate, device::Answer& answer, Response& response);
  // Removes fields that the server may see and the audit must not compare.
  template <typename Request>
  void Mask(Request& request) const;
  template <typename Request>
  void Record(const Request& request);

  const Options options_;
  Timeline& timeline_;
  Recorder& recorder_;
  WorldRandom random_;
  WorldServer* server_ = nullptr;
  int generation_ = 0;
  bool at_once_ = false;
  std::uint64_t peers_epochs_ = 0;
  std::uint64_t heard_epoch_ = 0;
  std::optional<PublicSpec> policy_;
};

}  // namespace bandana::audit
