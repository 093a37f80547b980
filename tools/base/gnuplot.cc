#include "tools/base/gnuplot.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/base/file.h"
#include "common/base/status.h"
#include "tools/base/compact_svg.h"

namespace bandana {
namespace {

constexpr std::uint64_t kSvgBytesMax = 1 << 28;

// Runs gnuplot with `script` as its standard input. Returns its exit code.
absl::StatusOr<int> RunGnuplot(const std::string& script) {
  FILE* input = tmpfile();
  if (input == nullptr) return Unavailable("cannot make a temporary file: ", std::strerror(errno));
  const bool written = fwrite(script.data(), 1, script.size(), input) == script.size() &&
                       fflush(input) == 0 && fseek(input, 0, SEEK_SET) == 0;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, fileno(input), STDIN_FILENO);
  // A picture that cannot be written goes to the standard output otherwise.
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  std::array<char*, 2> arguments = {const_cast<char*>("gnuplot"), nullptr};
  pid_t pid = 0;
  const int error =
      written ? posix_spawnp(&pid, "gnuplot", &actions, nullptr, arguments.data(), environ) : EIO;
  posix_spawn_file_actions_destroy(&actions);
  fclose(input);
  if (error == ENOENT)
    return Unavailable(
        "gnuplot is not installed (Debian package gnuplot-nox): no plot can be drawn");
  if (error != 0) return Unavailable("cannot run gnuplot: ", std::strerror(error));
  int status = 0;
  while (waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) return Unavailable("lost gnuplot: ", std::strerror(errno));
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

absl::Status CheckGnuplot() { return RunGnuplot("exit\n").status(); }

absl::Status DrawSvg(const std::string& path, const std::string& script, PlotSize size) {
  const std::string head = absl::StrCat(
      "set terminal svg size ", size.width, ",", size.height,
      " noenhanced font 'sans,14' background '#ffffff'\nset output ", QuotedForGnuplot(path), "\n");
  BANDANA_ASSIGN_OR_RETURN(const int code, RunGnuplot(head + script));
  if (code != 0)
    return Unavailable("gnuplot failed with exit code ", code, " while writing ", path);
  BANDANA_ASSIGN_OR_RETURN(const std::string svg, ReadFile(path, kSvgBytesMax));
  return WriteFileDurably(path, CompactSvg(svg), 0644);
}

std::string QuotedForGnuplot(const std::string& text) {
  return "'" + absl::StrReplaceAll(text, {{"'", "''"}, {"\n", " "}}) + "'";
}

}  // namespace bandana
