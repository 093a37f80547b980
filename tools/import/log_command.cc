#include "tools/import/log_command.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/file.h"
#include "common/base/status.h"
#include "common/decisions/csv_reader.h"
#include "common/decisions/dsjson_reader.h"
#include "common/decisions/obp_reader.h"
#include "tools/decisions/decision_sink.h"
#include "tools/decisions/packed_file.h"
#include "tools/import/arm_list.h"
#include "tools/import/csv_decisions.h"
#include "tools/import/log_import.h"

namespace bandana {
namespace {

constexpr std::uint64_t kToldMax = 20;

// Names of the propensity in versions of the Open Bandit Dataset and in tables made after it.
constexpr std::string_view kPropensities[] = {"propensity_score", "action_prob", "pscore"};

// A log that is open, and its arms, where they are known before it is read.
struct OpenLog {
  std::unique_ptr<ArmList> arms;  // outlives the source
  bool arms_known = false;
  bool ids_known = true;
  std::unique_ptr<DecisionStream> source;
};

absl::StatusOr<ImportedLaw> ParseLaw(std::string_view law) {
  if (law == "logged") return ImportedLaw::kLogged;
  if (law == "chosen") return ImportedLaw::kChosen;
  if (law == "uniform") return ImportedLaw::kUniform;
  return InvalidArgument("--law must be logged, chosen or uniform, got \"", ToAbsl(law), "\"");
}

absl::StatusOr<std::vector<std::string>> HeaderOf(const std::string& path) {
  BANDANA_ASSIGN_OR_RETURN(DecisionBytes bytes, OpenPackedFile(path));
  CsvReader reader(std::move(bytes));
  return reader.ReadHeader();
}

// The columns of the Open Bandit Dataset. Its rows do not say which of them were shown together,
// and their propensities are of a position alone. So each row is a decision, with its position in
// the context.
CsvColumns ObpColumns(const std::vector<std::string>& header, ImportedLaw law) {
  CsvColumns columns{.arm = "item_id", .reward = "click", .time = "timestamp"};
  columns.context = {"position", "user_feature*", "user-item_affinity*"};
  if (law == ImportedLaw::kUniform) return columns;
  columns.propensity = kPropensities[0];
  for (const std::string_view name : kPropensities) {
    if (std::find(header.begin(), header.end(), name) == header.end()) continue;
    columns.propensity = name;
    break;
  }
  return columns;
}

absl::StatusOr<OpenLog> OpenTable(const LogCommand& command, CsvColumns columns, ImportedLaw law) {
  if (law == ImportedLaw::kUniform && !columns.propensity.empty()) {
    return InvalidArgument("--law uniform: the columns name a propensity; leave one of them out");
  }
  if (law != ImportedLaw::kUniform && columns.propensity.empty()) {
    return InvalidArgument(
        "columns: propensity must be named, or --law uniform where all arms had the same chance");
  }
  OpenLog log;
  const std::string& listed = command.arms.empty() ? command.in : command.arms;
  BANDANA_ASSIGN_OR_RETURN(DecisionBytes arm_bytes, OpenPackedFile(listed));
  absl::StatusOr<ArmList> arms = ReadCsvArms(std::move(arm_bytes), columns.arm);
  if (!arms.ok()) return Annotate(arms.status(), listed);
  log.arms = std::make_unique<ArmList>(*std::move(arms));
  log.arms_known = true;
  log.ids_known = !columns.decision.empty();
  BANDANA_ASSIGN_OR_RETURN(DecisionBytes bytes, OpenPackedFile(command.in));
  CsvOptions options{.columns = std::move(columns), .law = law, .range = command.range};
  auto source = CsvDecisions::Open(std::move(bytes), std::move(options), *log.arms);
  if (!source.ok()) return Annotate(source.status(), command.in);
  log.source = *std::move(source);
  return log;
}

absl::StatusOr<OpenLog> Open(const LogCommand& command) {
  BANDANA_ASSIGN_OR_RETURN(const ImportedLaw law, ParseLaw(command.law));
  if (command.format == "csv") {
    BANDANA_ASSIGN_OR_RETURN(CsvColumns columns, ParseCsvColumns(command.columns));
    return OpenTable(command, std::move(columns), law);
  }
  if (command.format == "obp") {
    absl::StatusOr<std::vector<std::string>> header = HeaderOf(command.in);
    if (!header.ok()) return Annotate(header.status(), command.in);
    if (!ObpReader::Knows(*header)) return OpenTable(command, ObpColumns(*header, law), law);
  }
  if (law == ImportedLaw::kUniform) {
    return InvalidArgument("--law uniform: the log has propensities of its own");
  }
  OpenLog log;
  log.arms = std::make_unique<ArmList>();
  BANDANA_ASSIGN_OR_RETURN(DecisionBytes bytes, OpenPackedFile(command.in));
  if (command.format == "dsjson") {
    log.source = std::make_unique<DsjsonReader>(
        std::move(bytes),
        DsjsonOptions{.range = command.range, .chosen_only = law == ImportedLaw::kChosen});
  } else {
    BANDANA_ASSIGN_OR_RETURN(log.source, ObpReader::Open(std::move(bytes)));
  }
  return log;
}

std::string Summary(const LogImport& import, std::size_t arms, const std::string& out) {
  std::uint64_t skipped = 0;
  std::string reasons;
  for (const auto& [reason, lines] : import.skipped) {
    skipped += lines;
    absl::StrAppend(&reasons, " skipped_", reason, "=", lines);
  }
  return absl::StrCat("decisions=", import.decisions, " arms=", arms, " skipped=", skipped, reasons,
                      " law=", import.whole_laws ? "all" : "chosen", " out=", out, "\n");
}

}  // namespace

absl::StatusOr<std::string> RunLogCommand(const LogCommand& command,
                                          const std::function<void(std::string_view)>& tell) {
  if (command.in.empty()) return InvalidArgument("--in and --out are required");
  if (!(command.range.min < command.range.max)) {
    return InvalidArgument("--reward_min must be below --reward_max, got ", command.range.min,
                           " and ", command.range.max);
  }
  BANDANA_ASSIGN_OR_RETURN(OpenLog log, Open(command));
  BANDANA_RETURN_IF_ERROR(MakeFolders(command.out));
  BANDANA_ASSIGN_OR_RETURN(const std::unique_ptr<DecisionSink> sink,
                           OpenDecisionSink(ResolvePath("log.jsonl", command.out), "jsonl"));
  LogImport import;
  import.ids_known = log.ids_known;
  std::uint64_t told = 0;
  const absl::Status copied = CopyDecisions(
      *log.source, *sink, log.arms_known ? nullptr : log.arms.get(),
      [&](std::string_view message) {
        if (++told <= kToldMax) tell(message);
        if (told == kToldMax) tell("further ones are counted alone");
      },
      import);
  if (!copied.ok()) return Annotate(copied, command.in);
  if (!log.arms_known) log.arms->Sort();
  if (import.decisions == 0) {
    return FailedPrecondition(command.in, ": no decision can be judged, ", told, " faults");
  }
  if (log.arms->size() < 2) {
    return FailedPrecondition(command.in,
                              ": has a single arm, so it says nothing of any other policy");
  }
  if (!import.whole_laws) {
    tell(
        "only the propensity of the chosen arm is known: upper bounds are wide "
        "(docs/import.md#logs-of-other-programs)");
  }
  BANDANA_RETURN_IF_ERROR(sink->Finish());
  const std::pair<std::string_view, std::string> files[] = {
      {"arms.tsv", log.arms->ToTsv()},
      {"server.textproto", ToLogServerConfig(command.range, import.binary)}};
  for (const auto& [name, text] : files) {
    const std::string path = ResolvePath(name, command.out);
    if (const absl::Status status = WriteFileDurably(path, text, 0644); !status.ok()) {
      return Annotate(status, path);
    }
  }
  return Summary(import, log.arms->size(), command.out);
}

}  // namespace bandana
