// Recommendation against a recorded history: HetRec 2011 (Last.fm), as imported by bandana-import.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "tools/base/settings.h"
#include "tools/environments/environment.h"

namespace bandana {

// `spec` is DIR or DIR:replay. A decision offers `pool` (25) catalogue arms in random order: one
// that the user had and pool - 1 drawn from those the user never had; the reward is 1 for the
// former, 0 for the others, so a random choice expects 1/pool. Setting `draw`, whose turn it is:
//   users   (default) a uniformly random user, and an arm uniform over the user's items
//   (items.tsv);
//           the others are drawn from what is not among them;
//   events  a uniformly random order of all events, a new one each time they are used up; the
//           others are neither items of the user nor tagged by the user;
//   replay  the events in order of time, over and over, otherwise as `events`; what DIR:replay
//   means.
// Setting `others`, what stands beside the arm that the user had: uniform (default), any arm; or
// popular, drawn as users' own are, a random item of a random user. Then popularity tells nothing.
// `users` is the file's. Errors: as ReadHetrec; INVALID_ARGUMENT also when a user had all but fewer
// than pool - 1 arms.
absl::StatusOr<std::unique_ptr<Environment>> MakeHetrec(std::string_view spec, Settings& settings,
                                                        std::uint64_t seed);

}  // namespace bandana
