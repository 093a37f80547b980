// Features that absl flags lack: flags that may be repeated, and a --help that says what the
// program does and exits with 0.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bandana {

// Takes every `--name=value` and `--name value` (one or two dashes) out of the arguments, in order.
// Words after a bare `--` are left alone. A flag without a value at the end is left for absl to
// complain about.
std::vector<std::string> TakeRepeatedFlag(std::vector<char*>& arguments, std::string_view name);

// Parses the arguments by absl and returns the program's name and the words that are no flags. On
// --help prints `usage` and every flag defined in a file whose path contains `source` (name, help,
// default), on --version `version`, and exits with 0. Exits with 2 on unknown flags, with 1 on bad
// values.
std::vector<char*> ParseWordsOrExit(std::vector<char*> arguments, std::string_view usage,
                                    std::string_view source, std::string_view version);

// As ParseWordsOrExit, for programs that take flags alone: exits with 2 on a word that is none.
void ParseCommandLineOrExit(std::vector<char*> arguments, std::string_view usage,
                            std::string_view source, std::string_view version);

}  // namespace bandana
