// Programs beside this one that end with it.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace bandana::server {

// The program `name` beside the running one, else in PATH; nothing where it is in neither.
std::optional<std::string> FindProgram(std::string_view name);

// A child process. The kernel kills it when the thread that started it ends, however that happens:
// start it from the main thread. Not thread-safe.
class Visitor {
 public:
  // In a process group of its own, so that a terminal's Ctrl-C does not reach it; stdin and stdout
  // are /dev/null, stderr is this program's. Errors: UNAVAILABLE it cannot be started.
  static absl::StatusOr<Visitor> Start(const std::string& program,
                                       const std::vector<std::string>& arguments);
  Visitor(Visitor&& other) noexcept;
  Visitor& operator=(Visitor&&) = delete;
  ~Visitor();  // Stop

  pid_t pid() const { return pid_; }
  // Whether it has ended by itself.
  bool Ended();
  // SIGTERM, once.
  void Ask();
  // Ask, SIGKILL where it has not ended within `patience`, and waits for its end.
  void Stop(absl::Duration patience = absl::Seconds(3));

 private:
  explicit Visitor(pid_t pid) : pid_(pid) {}

  pid_t pid_ = -1;  // -1: it has been waited for
  bool asked_ = false;
};

}  // namespace bandana::server
