// Full disks of a world's two parties.
#pragma once

#include "absl/status/status.h"

namespace bandana::audit {

// SQLite's writes below a folder `phone` or `server` fail with SQLITE_FULL while the thread says
// so; everything else passes through. Syncs are left out: the worlds' folders are never needed
// again.
class FullDisk {
 public:
  enum class Whose { kNobodys, kDevices, kServers };

  // Makes the files that this process opens from now on such files. Errors: UNAVAILABLE SQLite.
  static absl::Status Install();
  static void Set(Whose whose);
};

}  // namespace bandana::audit
