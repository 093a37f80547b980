// One server's word to another, of the same store, on a model's releases.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "common/base/sha256.h"
#include "common/design/instance_id.h"
#include "server/models/folder/publication.h"

namespace bandana::server {

// The inputs of the noise of the releases up to an entry, as this server computes them.
struct ReleasedBy {
  std::uint64_t sequence = 0;
  Sha256Digest digest{};
};

struct Standing {
  std::string name;     // of the server that says so, as the store knows it
  Published published;  // what it has shown, by its own record
  // Servers that may have shown more since it last knew the whole log.
  std::vector<std::string> others;
  // StoreView::place where it knows all that the log ever held, and so all that anybody has shown;
  // else empty.
  std::string in_touch;
  std::vector<ReleasedBy> released;  // a few, the newest last
};

// Asks the servers at these addresses; those that have answered. Waits for a second at most.
using AskOthers = std::function<std::vector<Standing>(
    std::span<const std::string> addresses, const std::string& model, const InstanceId& instance)>;

// Whether the log, which ends at `last`, holds all that was ever shown of the model: so says a
// server that knows, or every server that may have shown something has answered, and none has shown
// more. `others`: Standing::others of the one that asks, `self` its name, `place` what it sees.
// Errors: NeedsEpoch, naming a server.
absl::Status CheckStandings(std::span<const Standing> answers,
                            const std::vector<std::string>& others, const std::string& self,
                            const std::string& place, std::uint64_t last);

// Where both say something of the same entry, whether it is the same. Errors: FAILED_PRECONDITION.
absl::Status CompareReleased(std::span<const ReleasedBy> mine, std::span<const ReleasedBy> owners);

}  // namespace bandana::server
