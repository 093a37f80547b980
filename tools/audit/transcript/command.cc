#include "tools/audit/transcript/command.h"

#include <algorithm>
#include <cstdio>
#include <thread>

#include "common/base/file.h"
#include "common/base/status.h"
#include "tools/audit/transcript/combination.h"
#include "tools/audit/transcript/scenario.h"
#include "tools/audit/transcript/transcript.h"

namespace bandana::audit {
namespace {

constexpr int kExitDiffers = 1;
constexpr std::uint64_t kSeedsPerCombination = 5;

}  // namespace

absl::StatusOr<int> RunTranscriptCommand(const TranscriptCommand& command) {
  if (command.list_mutants) {
    for (const Mutant& mutant : Mutants()) {
      std::printf("%-26s %s (%llu seeds)\n", mutant.name.c_str(), mutant.description.c_str(),
                  static_cast<unsigned long long>(mutant.seeds));
    }
    return 0;
  }
  TranscriptOptions options;
  options.seeds = kSeedsPerCombination * Combinations().size();
  options.first_seed = static_cast<std::uint64_t>(std::max<std::int64_t>(command.first_seed, 0));
  options.threads =
      command.threads != 0
          ? command.threads
          : static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1u, 64u));
  options.progress = true;
  if (!command.mutant.empty()) {
    options.mutant = FindMutant(command.mutant);
    if (options.mutant == nullptr) {
      return InvalidArgument("--mutant: none is called ", command.mutant, "; see --list_mutants");
    }
    options.seeds = options.mutant->seeds;
    options.stop_at_first = true;
  }
  if (command.seeds != 0) options.seeds = command.seeds;
  if (options.seeds == 1) std::fputs(Describe(ScenarioOf(options.first_seed)).c_str(), stdout);
  BANDANA_ASSIGN_OR_RETURN(const TranscriptResult result, RunTranscripts(options));
  std::fputs(ToText(result).c_str(), stdout);
  if (!command.json.empty()) {
    BANDANA_RETURN_IF_ERROR(WriteFileDurably(command.json, ToJson(result, options.mutant), 0644));
  }
  return IsSound(result) ? 0 : kExitDiffers;
}

}  // namespace bandana::audit
