// A log of another program to a log of decisions, a catalogue and a configuration.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/decisions/decision_stream.h"
#include "tools/decisions/decision_sink.h"
#include "tools/import/arm_list.h"

namespace bandana {

struct LogImport {
  std::uint64_t decisions = 0;                   // that were written
  std::map<std::string, std::uint64_t> skipped;  // lines, by reason
  bool whole_laws = true;                        // every decision has all arms' propensities
  bool binary = true;                            // every reward is an end of its range
  bool ids_known = true;  // false: decisions are named by their lines, so none can stand twice
};

// Takes a message about lines that are passed over.
using TellFault = std::function<void(std::string_view message)>;

// Writes each decision that CheckDecision takes and that did not stand before, and tells the
// others. `arms` gets those that were on offer, or is null where they are known. Errors: those of
// source and sink; RESOURCE_EXHAUSTED too many arms.
absl::Status CopyDecisions(DecisionStream& source, DecisionSink& sink, ArmList* arms,
                           const TellFault& tell, LogImport& import);

// A server's configuration of two models over arms.tsv beside it: one that learns from raw rewards,
// one from randomized ones.
std::string ToLogServerConfig(const RewardRange& range, bool binary);

}  // namespace bandana
