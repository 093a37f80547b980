// The transcript audit: two worlds that differ in one reaction, or in one round, must show every
// observer the same. docs/design/transcripts.md, "Transcripts".
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/audit/transcript/mutants.h"
#include "tools/audit/transcript/recorder.h"

namespace bandana::audit {

struct TranscriptOptions {
  std::uint64_t first_seed = 0;
  std::uint64_t seeds = 200;
  int threads = 2;  // worlds at a time
  const Mutant* mutant = nullptr;
  bool stop_at_first = false;  // no further seeds once something differs
  bool progress = false;       // on stderr
  std::string folder;          // for the worlds' files; empty: memory, or else the disk
};

// A difference, and where it can be seen again.
struct FoundDifference {
  std::uint64_t seed = 0;
  std::string pass;  // blind: draws ignore their input; real: before the first release
  std::string combination;
  std::string kind;  // Scenario::difference
  Difference where;
};

struct TranscriptResult {
  std::uint64_t scenarios = 0;  // pairs of worlds: two a seed, of blind and of real draws
  std::uint64_t seeds = 0;
  std::uint64_t combinations = 0;  // of modes, mechanisms and ways of reporting
  std::uint64_t rounds = 0;        // scenarios whose worlds differ in a round
  std::uint64_t reactions = 0;     // scenarios in which what differs happened
  std::set<std::string> idle;      // combinations in none of whose scenarios it did
  std::uint64_t fields_compared = 0;
  std::array<std::uint64_t, kObservers> by_observer = {};  // messages, lines and rows
  std::uint64_t differences = 0;
  std::vector<FoundDifference> first;
};

// Nothing differs. Where so many seeds ran that every combination had ten, what differs between the
// worlds happened in each: one in which it never does would compare the same with the same.
bool IsSound(const TranscriptResult& result);

// Errors: a world could not be set up.
absl::StatusOr<TranscriptResult> RunTranscripts(const TranscriptOptions& options);

std::string ToJson(const TranscriptResult& result, const Mutant* mutant);
std::string ToText(const TranscriptResult& result);

}  // namespace bandana::audit
