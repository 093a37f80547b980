// `bandana-ctl tune`, apart from the process.
#pragma once

#include <cstdio>
#include <span>
#include <string>

namespace bandana {

// Runs it on the words after `tune`; the answer goes to `out`, the rest to `err`. The exit code: 0
// tuned; 1 it cannot be, or a file failed; 2 a mistake in the arguments.
int RunTune(std::span<const std::string> words, std::FILE* out, std::FILE* err);

std::string TuneHelp();

}  // namespace bandana
