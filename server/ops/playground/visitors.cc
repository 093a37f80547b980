#include "server/ops/playground/visitors.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_split.h"
#include "common/base/status.h"

namespace bandana::server {
namespace {

constexpr absl::Duration kPause = absl::Milliseconds(20);

bool IsProgram(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored) && access(path.c_str(), X_OK) == 0;
}

// In the child, where only what signal handlers may call may be called.
[[noreturn]] void Become(char* const* argv, int null, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);  // it ended before the line above
  setpgid(0, 0);
  dup2(null, STDIN_FILENO);
  dup2(null, STDOUT_FILENO);
  close_range(STDERR_FILENO + 1, ~0U, 0);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execv(argv[0], argv);
  _exit(127);
}

}  // namespace

std::optional<std::string> FindProgram(std::string_view name) {
  std::error_code failed;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", failed);
  if (!failed && IsProgram(self.parent_path() / name)) return self.parent_path() / name;
  const char* const path = std::getenv("PATH");
  if (path == nullptr) return std::nullopt;
  for (const auto folder : absl::StrSplit(path, ':', absl::SkipEmpty())) {
    const std::filesystem::path program = std::filesystem::path(std::string(folder)) / name;
    if (IsProgram(program)) return program;
  }
  return std::nullopt;
}

absl::StatusOr<Visitor> Visitor::Start(const std::string& program,
                                       const std::vector<std::string>& arguments) {
  std::vector<std::string> words = {program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0) return Unavailable("cannot open /dev/null: ", std::strerror(errno));
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) Become(argv.data(), null, parent);
  const int error = errno;
  close(null);
  if (child < 0) return Unavailable("cannot start ", program, ": ", std::strerror(error));
  return Visitor(child);
}

Visitor::Visitor(Visitor&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), asked_(other.asked_) {}

Visitor::~Visitor() { Stop(); }

bool Visitor::Ended() {
  if (pid_ < 0) return true;
  if (waitpid(pid_, nullptr, WNOHANG) != pid_) return false;
  pid_ = -1;
  return true;
}

void Visitor::Ask() {
  if (!Ended() && !asked_) kill(pid_, SIGTERM);
  asked_ = true;
}

void Visitor::Stop(absl::Duration patience) {
  Ask();
  for (absl::Duration waited; !Ended(); waited += kPause) {
    if (waited >= patience) break;
    absl::SleepFor(kPause);
  }
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  waitpid(std::exchange(pid_, -1), nullptr, 0);
}

}  // namespace bandana::server
