// A program of the build as a child process, with its output collected.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"

namespace bandana::testing {

// Path of a program of the build, e.g. "bandana-server": in $BANDANA_BIN_DIR or the build's own bin
// folder.
std::string ProgramPath(std::string_view name);

// The child dies with the thread that started it. Not thread-safe. Aborts the test program when it
// cannot be started.
class ChildProcess {
 public:
  // Path of the program, then its arguments.
  explicit ChildProcess(const std::vector<std::string>& command);
  ~ChildProcess();  // kills it
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const;
  bool Running();
  void Signal(int signal);
  // Waits for its end and for all its output. Exit code; 128 + signal when a signal ended it.
  int Wait();
  // Waits until it has written so many lines to stdout or closed it.
  void AwaitLine(absl::Duration timeout, int lines = 1);

  // The output so far.
  std::string out() const;
  std::string err() const;

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

struct ProcessResult {
  int exit_code = -1;
  std::string out;
  std::string err;
};

// Runs a program of the build to its end.
ProcessResult RunProgram(std::string_view name, const std::vector<std::string>& arguments);

}  // namespace bandana::testing
