#include "common/base/flag_words.h"

#include <string_view>
#include <vector>

#include "absl/flags/commandlineflag.h"
#include "absl/flags/reflection.h"
#include "absl/strings/str_cat.h"
#include "common/base/near_word.h"
#include "common/base/status.h"

namespace bandana {
namespace {

const absl::CommandLineFlag* Find(std::string_view name) {
  return absl::FindCommandLineFlag(ToAbsl(name));
}

// Whether the argument behind the flag is its value.
bool TakesNext(const absl::CommandLineFlag& flag) { return !flag.IsOfType<bool>(); }

}  // namespace

std::optional<std::string> UnknownFlag(int argc, const char* const* argv) {
  std::optional<std::string> unknown;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--") break;
    if (argument.size() < 2 || argument[0] != '-') continue;
    std::string_view name = argument.substr(argument[1] == '-' ? 2 : 1);
    const bool has_value = name.find('=') != std::string_view::npos;
    name = name.substr(0, name.find('='));
    if (name == "undefok") return std::nullopt;
    if (const absl::CommandLineFlag* flag = Find(name)) {
      if (!has_value && TakesNext(*flag)) ++i;
      continue;
    }
    if (name.starts_with("no") && Find(name.substr(2)) != nullptr) continue;
    if (unknown) continue;
    std::vector<std::string_view> names;
    for (const auto& [known, flag] : absl::GetAllFlags()) {
      names.emplace_back(known.data(), known.size());
    }
    const std::string_view near = NearestWord(name, names);
    unknown = absl::StrCat("unknown flag ", ToAbsl(argument.substr(0, argument.find('='))),
                           near.empty() ? "" : ": did you mean --", ToAbsl(near),
                           near.empty() ? "" : "?");
  }
  return unknown;
}

}  // namespace bandana
