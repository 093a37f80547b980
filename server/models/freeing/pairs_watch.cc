#include "server/models/freeing/pairs_watch.h"

#include "absl/strings/str_cat.h"

namespace bandana::server {

void PairsWatch::Look(std::uint64_t pairs) {
  if (pairs >= max_ && !std::exchange(warned_of_full_, true)) {
    warned_of_near_ = true;
    warn_(absl::StrCat("effects: all ", max_,
                       " pairs of pairs_max are taken: ", "a further pair has no effect"));
  } else if (pairs >= max_ - max_ / 5 && !std::exchange(warned_of_near_, true)) {
    warn_(absl::StrCat("effects: ", pairs, " pairs are taken, pairs_max is ", max_));
  }
}

}  // namespace bandana::server
