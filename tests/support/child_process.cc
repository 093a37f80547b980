#include "tests/support/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <thread>

#include "common/base/check.h"
#include "common/base/file.h"

namespace bandana::testing {
namespace {

int ExitCode(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Starts the command with stdout and stderr in the given descriptors.
pid_t Spawn(const std::vector<std::string>& command, int out, int err) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t pid = ::fork();
  BANDANA_CHECK(pid >= 0);
  if (pid > 0) return pid;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(err, STDERR_FILENO);
  ::execv(arguments[0], arguments.data());
  ::_exit(127);
}

}  // namespace

std::string ProgramPath(std::string_view name) {
  const char* folder = std::getenv("BANDANA_BIN_DIR");
  return ResolvePath(name, folder != nullptr ? folder : BANDANA_BIN_DIR);
}

class ChildProcess::Impl {
 public:
  explicit Impl(const std::vector<std::string>& command) {
    int out[2], err[2];
    BANDANA_CHECK(::pipe2(out, O_CLOEXEC) == 0);
    BANDANA_CHECK(::pipe2(err, O_CLOEXEC) == 0);
    pid = Spawn(command, out[1], err[1]);
    ::close(out[1]);
    ::close(err[1]);
    out_reader_ = std::thread([this, fd = out[0]] { Collect(fd, out_text); });
    err_reader_ = std::thread([this, fd = err[0]] { Collect(fd, err_text); });
  }
  ~Impl() {
    out_reader_.join();
    err_reader_.join();
  }

  pid_t pid = -1;
  std::optional<int> exit_code;
  std::mutex mutex;
  std::condition_variable changed;  // a line came, or a stream ended
  int open_streams = 2;
  std::string out_text;
  std::string err_text;

 private:
  void Collect(int fd, std::string& text) {
    char buffer[4096];
    for (ssize_t n; (n = ::read(fd, buffer, sizeof buffer)) > 0;) {
      const std::lock_guard lock(mutex);
      text.append(buffer, static_cast<std::size_t>(n));
      changed.notify_all();
    }
    ::close(fd);
    const std::lock_guard lock(mutex);
    --open_streams;
    changed.notify_all();
  }

  std::thread out_reader_, err_reader_;
};

ChildProcess::ChildProcess(const std::vector<std::string>& command)
    : impl_(std::make_unique<Impl>(command)) {}

ChildProcess::~ChildProcess() {
  Signal(SIGKILL);
  Wait();
}

pid_t ChildProcess::pid() const { return impl_->pid; }

bool ChildProcess::Running() {
  int status = 0;
  if (!impl_->exit_code && ::waitpid(impl_->pid, &status, WNOHANG) == impl_->pid) {
    impl_->exit_code = ExitCode(status);
  }
  return !impl_->exit_code;
}

void ChildProcess::Signal(int signal) {
  if (!impl_->exit_code) ::kill(impl_->pid, signal);
}

int ChildProcess::Wait() {
  int status = 0;
  if (!impl_->exit_code) {
    BANDANA_CHECK(::waitpid(impl_->pid, &status, 0) == impl_->pid);
    impl_->exit_code = ExitCode(status);
  }
  std::unique_lock lock(impl_->mutex);
  impl_->changed.wait(lock, [this] { return impl_->open_streams == 0; });
  return *impl_->exit_code;
}

void ChildProcess::AwaitLine(absl::Duration timeout, int lines) {
  std::unique_lock lock(impl_->mutex);
  impl_->changed.wait_for(lock, absl::ToChronoNanoseconds(timeout), [&] {
    const auto written = std::count(impl_->out_text.begin(), impl_->out_text.end(), '\n');
    return impl_->open_streams < 2 || written >= lines;
  });
}

std::string ChildProcess::out() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->out_text;
}

std::string ChildProcess::err() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->err_text;
}

ProcessResult RunProgram(std::string_view name, const std::vector<std::string>& arguments) {
  std::vector<std::string> command = {ProgramPath(name)};
  command.insert(command.end(), arguments.begin(), arguments.end());
  ChildProcess child(command);
  ProcessResult result;
  result.exit_code = child.Wait();
  result.out = child.out();
  result.err = child.err();
  return result;
}

}  // namespace bandana::testing
