// A small made-up data set in the shape of HetRec 2011: two circles of friends with different
// tastes.
#pragma once

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/support/test_rng.h"
#include "tools/import/hetrec_files.h"

namespace bandana::testing {

// 24 users (ids 1..24, the first and the last 12 are friends among themselves with one pair
// between), 40 artists (ids 100..139) and 8 tags (ids 1..8).
inline HetrecFiles MadeUpHetrec() {
  TestRng rng(11);
  HetrecFiles files;
  for (int a = 1; a <= 24; ++a) {
    for (int b = a + 1; b <= 24; ++b) {
      if ((a <= 12) == (b <= 12) ? rng.Uniform() < 0.5 : a == 12 && b == 13) {
        files.friends.emplace_back(a, b);
      }
    }
  }
  for (int user = 1; user <= 24; ++user) {
    for (int artist = 100; artist < 140; ++artist) {
      const bool likes = (user <= 12) == (artist < 120);
      if (rng.Uniform() > (likes ? 0.6 : 0.1)) continue;
      files.listenings.push_back({user, artist});
      for (int tag = 1; tag <= 8; ++tag) {
        const bool fits = (artist + tag) % 4 == 0 || (artist < 120) == (tag <= 4);
        if (rng.Uniform() > (fits ? 0.4 : 0.05)) continue;
        const absl::CivilDay day(2005 + rng.Index(6), 1 + rng.Index(12), 1);
        files.assignments.push_back({user, artist, tag, day});
      }
    }
  }
  for (int tag = 1; tag <= 8; ++tag) files.tag_names[tag] = absl::StrCat("tag ", tag);
  return files;
}

}  // namespace bandana::testing
