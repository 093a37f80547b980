#include "tools/import/log_import.h"

#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/decisions/check_decision.h"

namespace bandana {
namespace {

constexpr std::string_view kHeader =
    R"(# Written by bandana-import. Start with: bandana-server --config server.textproto
# A fresh model over the arms of the log beside it: judge policies by log.jsonl, then serve one of them. Every arm's
# features are the single number 1, so that arms are told apart by their effects; put features of your own in arms.tsv
# and change `dimension`. The share of uniform choices is what later logs are judged by.
)";

void AppendModel(std::string_view name, std::string_view mode, const RewardRange& range,
                 bool binary, std::string& text) {
  absl::StrAppend(&text, "models {\n  name: \"", ToAbsl(name),
                  "\"\n  dimension: 1\n  reward_min: ", range.min, "\n  reward_max: ", range.max,
                  "\n");
  if (binary) text += "  reward_binary: true\n";
  absl::StrAppend(&text, "  effects { standard {} }\n", ToAbsl(mode),
                  "  policy { uniform_mix { uniform_share: 0.1 } }\n"
                  "  reporting { one_per_decision: true }\n"
                  "  decision_log {}\n  arms_file: \"arms.tsv\"\n  arms_max: 1000000\n}\n");
}

}  // namespace

absl::Status CopyDecisions(DecisionStream& source, DecisionSink& sink, ArmList* arms,
                           const TellFault& tell, LogImport& import) {
  LoggedDecision decision;
  DecisionFault fault;
  absl::flat_hash_set<std::size_t> seen;  // hashes of ids
  for (;;) {
    BANDANA_ASSIGN_OR_RETURN(const DecisionStream::Next next, source.Read(decision, fault));
    if (next == DecisionStream::Next::kEnd) return absl::OkStatus();
    if (next == DecisionStream::Next::kDecision) {
      const auto refuse = [&](std::string_view reason, std::string_view message) {
        fault = {source.line(), decision.slots.size(), reason,
                 absl::StrCat("line ", source.line(), ": ", ToAbsl(message))};
      };
      fault = {};
      if (const auto problem = CheckDecision(decision)) {
        refuse(problem->reason, problem->message);
      } else if (import.ids_known && !seen.insert(absl::Hash<std::string>()(decision.id)).second) {
        refuse(skip_reason::kDuplicate, "the decision stands twice");
      }
    }
    if (!fault.reason.empty()) {
      import.skipped[std::string(fault.reason)] += fault.lines;
      tell(fault.message);
      fault = {};
      continue;
    }
    for (const LoggedSlot& slot : decision.slots) {
      if (arms != nullptr) {
        if (const absl::Status added = arms->AddAll(slot); !added.ok()) {
          return Annotate(added, absl::StrCat("line ", source.line()));
        }
      }
      import.whole_laws = import.whole_laws && slot.whole_law();
      import.binary = import.binary && !slot.released &&
                      (slot.state != RewardState::kKnown || slot.reward == decision.range.min ||
                       slot.reward == decision.range.max);
    }
    BANDANA_RETURN_IF_ERROR(sink.Write(decision));
    ++import.decisions;
  }
}

std::string ToLogServerConfig(const RewardRange& range, bool binary) {
  std::string text(kHeader);
  AppendModel("imported", "  mode: NON_PRIVATE\n", range, binary, text);
  AppendModel("ldp-imported",
              "  mode: LOCAL_REWARD\n  privacy { epsilon: 2 mechanism: REWARD_RANDOMIZER }\n",
              range, binary, text);
  return text;
}

}  // namespace bandana
