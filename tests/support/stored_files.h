// Files that tests keep in the repository, which keeps no permissions.
#pragma once

#include <filesystem>
#include <string>

namespace bandana::testing {

// Copies the file or folder `from` to `to`, as a server or a device would have left it: for its
// owner alone, and open to changes. Returns `to`.
inline std::string CopyStored(const std::string& from, const std::string& to) {
  namespace fs = std::filesystem;
  const auto own = [](const fs::path& path) {
    fs::permissions(path, static_cast<fs::perms>(fs::is_directory(path) ? 0700 : 0600));
  };
  fs::copy(from, to, fs::copy_options::recursive);
  own(to);
  if (!fs::is_directory(to)) return to;
  for (const auto& entry : fs::recursive_directory_iterator(to)) own(entry.path());
  return to;
}

}  // namespace bandana::testing
