// `bandana-ctl evaluate`, apart from the process.
#pragma once

#include <cstdio>
#include <span>
#include <string>

namespace bandana {

// Runs it on the words after `evaluate`; the answer goes to `out`, the rest to `err`. The exit
// code: 0 judged; 1 cannot be judged, or a file failed; 2 a mistake in the arguments.
int RunEvaluate(std::span<const std::string> words, std::FILE* out, std::FILE* err);

}  // namespace bandana
