#include "common/base/temp_folder.h"

#include <stdlib.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "common/base/removal.h"
#include "common/base/status.h"

namespace bandana {

absl::StatusOr<TempFolder> TempFolder::Make(const std::string& prefix) {
  std::string path = prefix + "XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) {
    return Unavailable("cannot make a folder ", prefix, "*: ", std::strerror(errno));
  }
  return TempFolder(std::move(path));
}

absl::StatusOr<TempFolder> TempFolder::OfMachine() {
  const char* const named = std::getenv("TMPDIR");
  if (named != nullptr && *named != '\0') return Make(std::string(named) + "/bandana-");
  absl::StatusOr<TempFolder> made = Make("/tmp/bandana-");
  return made.ok() ? std::move(made) : Make("/dev/shm/bandana-");
}

TempFolder::~TempFolder() {
  if (!path_.empty()) RemoveFolder(path_).IgnoreError();
}

}  // namespace bandana
