// Tests of stored files have one that writes them, which runs alone, and only when asked for.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace bandana::testing {

// Runs the suite `writer` when the arguments have --write=FOLDER, with the folder in `write_to`;
// else all others, or those of --gtest_filter.
inline int RunGolden(int argc, char** argv, const std::string& writer, std::string& write_to) {
  constexpr std::string_view kFlag = "--write=";
  ::testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.starts_with(kFlag)) write_to = argument.substr(kFlag.size());
  }
  std::string& filter = ::testing::GTEST_FLAG(filter);
  if (!write_to.empty()) {
    filter = writer + ".*";
  } else if (filter == "*") {
    filter = "-" + writer + ".*";
  }
  return RUN_ALL_TESTS();
}

}  // namespace bandana::testing
