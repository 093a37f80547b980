// The verbs of bandana-ctl, apart from flags and process.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/judging/user_split.h"
#include "tools/ctl/admin_client.h"

namespace bandana {

struct CommandLine {
  std::vector<std::string> words;  // verb and arguments, e.g. {"arms", "put", "arms.tsv"}
  std::string model;               // --model
  bool influence = false;          // --influence
  std::string format;              // --format
  std::string from;                // --from
  std::string to;                  // --to
  bool users = false;              // --users
  std::string alias;               // --alias
  SplitOptions split;              // evaluate split
  // decisions export, evaluate split: the servers of further --target.
  std::vector<AdminClient*> others = {};
};

struct CommandOutput {
  std::string text;  // for people
  std::string json;  // for programs: one object
};

// Runs one command. Where the answer is that something cannot be judged there are an error and an
// output. Errors: INVALID_ARGUMENT with the usage line for words that are no command; the
// server's; files'.
absl::Status RunCommand(AdminClient& client, const CommandLine& line, CommandOutput& output);

// One line a verb.
std::string CommandHelp();

}  // namespace bandana
