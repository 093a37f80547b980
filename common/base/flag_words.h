// Flags that a program does not have, before Abseil ends the program because of them.
#pragma once

#include <optional>
#include <string>

namespace bandana {

// `unknown flag --lisen: did you mean --listen?` of the first flag among the arguments that is not
// declared in this program; nothing where all are, or where --undefok stands among them. Values of
// flags that stand apart from them are not looked at. Call it before absl::ParseCommandLine.
std::optional<std::string> UnknownFlag(int argc, const char* const* argv);

}  // namespace bandana
