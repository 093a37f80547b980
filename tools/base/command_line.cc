#include "tools/base/command_line.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>

#include "absl/flags/commandlineflag.h"
#include "absl/flags/parse.h"
#include "absl/flags/reflection.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/flag_words.h"
#include "common/base/status.h"

namespace bandana {
namespace {

// The argument without its leading dashes, or nothing when it is not a flag.
std::string_view FlagText(std::string_view argument) {
  if (argument.starts_with("--")) return argument.substr(2);
  if (argument.starts_with("-")) return argument.substr(1);
  return {};
}

void PrintHelp(std::string_view usage, std::string_view source) {
  std::cout << usage << "\nFlags:\n";
  std::map<std::string, const absl::CommandLineFlag*> sorted;
  for (const auto& [name, flag] : absl::GetAllFlags()) {
    if (absl::StrContains(flag->Filename(), ToAbsl(source))) sorted.emplace(name, flag);
  }
  for (const auto& [name, flag] : sorted) {
    std::cout << "  --" << name << "  " << flag->Help();
    if (!flag->DefaultValue().empty()) std::cout << " [" << flag->DefaultValue() << "]";
    std::cout << "\n";
  }
}

}  // namespace

std::vector<std::string> TakeRepeatedFlag(std::vector<char*>& arguments, std::string_view name) {
  std::vector<std::string> values;
  std::vector<char*> rest;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "--") {
      rest.insert(rest.end(), arguments.begin() + i, arguments.end());
      break;
    }
    const std::string_view text = i == 0 ? std::string_view() : FlagText(argument);
    if (text == name && i + 1 < arguments.size()) {
      values.emplace_back(arguments[++i]);
    } else if (text.starts_with(name) && text.substr(name.size()).starts_with("=")) {
      values.emplace_back(text.substr(name.size() + 1));
    } else {
      rest.push_back(arguments[i]);
    }
  }
  arguments = std::move(rest);
  return values;
}

std::vector<char*> ParseWordsOrExit(std::vector<char*> arguments, std::string_view usage,
                                    std::string_view source, std::string_view version) {
  for (std::size_t i = 1; i < arguments.size() && std::string_view(arguments[i]) != "--"; ++i) {
    const std::string_view text = FlagText(arguments[i]);
    if (text == "help" || text == "h") {
      PrintHelp(usage, source);
      std::exit(0);
    }
    if (text == "version") {
      std::cout << version << "\n";
      std::exit(0);
    }
  }
  if (const auto unknown = UnknownFlag(static_cast<int>(arguments.size()), arguments.data())) {
    std::cerr << *unknown << "; see --help\n";
    std::exit(2);
  }
  return absl::ParseCommandLine(static_cast<int>(arguments.size()), arguments.data());
}

void ParseCommandLineOrExit(std::vector<char*> arguments, std::string_view usage,
                            std::string_view source, std::string_view version) {
  const std::vector<char*> positional =
      ParseWordsOrExit(std::move(arguments), usage, source, version);
  if (positional.size() > 1) {
    std::cerr << "unexpected argument `" << positional[1] << "`; see --help\n";
    std::exit(2);
  }
}

}  // namespace bandana
