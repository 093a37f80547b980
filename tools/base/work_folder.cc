#include "tools/base/work_folder.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status.h"

extern char** environ;

namespace bandana {
namespace {

// Reads lines, each with the children to kill, until this process is gone; $0 is the folder.
constexpr char kGuard[] =
    "trap '' INT TERM HUP; children=; while read -r line; do children=$line; done; "
    "[ -z \"$children\" ] || { kill -KILL $children; sleep 0.2; }; rm -rf -- \"$0\"";

}  // namespace

absl::StatusOr<std::unique_ptr<WorkFolder>> WorkFolder::Make(std::string_view name) {
  const char* const parent = getenv("TMPDIR");
  std::string path = absl::StrCat(parent != nullptr && *parent != '\0' ? parent : "/tmp",
                                  "/bandana-", ToAbsl(name), "-XXXXXX");
  if (mkdtemp(path.data()) == nullptr) {
    return Unavailable("cannot make a folder ", path, ": ", std::strerror(errno));
  }
  std::unique_ptr<WorkFolder> folder(new WorkFolder(std::move(path)));
  BANDANA_RETURN_IF_ERROR(folder->StartGuard());
  return folder;
}

absl::Status WorkFolder::StartGuard() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    return Unavailable("cannot make a pipe: ", std::strerror(errno));
  }
  to_guard_ = ends[1];
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
  std::string words[] = {"sh", "-c", kGuard, path_};
  char* const argv[] = {words[0].data(), words[1].data(), words[2].data(), words[3].data(),
                        nullptr};
  const int failed = posix_spawn(&guard_, "/bin/sh", &actions, nullptr, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[0]);
  if (failed == 0) return absl::OkStatus();
  guard_ = -1;
  return Unavailable("cannot start /bin/sh: ", std::strerror(failed));
}

WorkFolder::~WorkFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
  if (to_guard_ >= 0) close(to_guard_);
  if (guard_ > 0) waitpid(guard_, nullptr, 0);
}

void WorkFolder::Hold(pid_t child) {
  children_.push_back(child);
  TellGuard();
}

void WorkFolder::Release(pid_t child) {
  std::erase(children_, child);
  TellGuard();
}

void WorkFolder::TellGuard() const {
  const std::string line = absl::StrCat(absl::StrJoin(children_, " "), "\n");
  // Shorter than a pipe's atomic write. Where the guard is gone the folder goes with the object.
  static_cast<void>(!write(to_guard_, line.data(), line.size()));
}

}  // namespace bandana
