// bandana-import obp, dsjson and csv.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/mechanisms/reward_range.h"

namespace bandana {

struct LogCommand {
  std::string format;   // obp, dsjson or csv
  std::string in;       // the log's path, perhaps .gz
  std::string out;      // a folder
  std::string columns;  // csv: ParseCsvColumns
  std::string arms;     // obp, csv: path of a table with a row per arm; empty: those of the log
  std::string law;      // logged, chosen or uniform
  RewardRange range;
};

// Writes log.jsonl, arms.tsv and server.textproto. `tell` gets a line per fault, the first 20
// alone, and notes. The answer is a line for people: what was written, what was passed over and
// why. Errors: INVALID_ARGUMENT the options, a table without a named column; FAILED_PRECONDITION no
// decision can be judged; those of the files.
absl::StatusOr<std::string> RunLogCommand(const LogCommand& command,
                                          const std::function<void(std::string_view)>& tell);

}  // namespace bandana
