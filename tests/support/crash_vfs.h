// A SQLite VFS whose files live in memory and forget, at a crash, what was not synced: the disk of
// a simulated machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/test_rng.h"

namespace bandana::testing {

// One disk per process, registered under kName. Faults are armed as a countdown of calls.
// Threads: not thread-safe: drive SQLite from one thread.
class CrashVfs {
 public:
  static constexpr char kName[] = "bandana-crash";
  static CrashVfs& Instance();

  enum class Fault {
    kPowerCut,    // this call and all after it fail, until Crash
    kShortWrite,  // a write stores its first half and fails
    kSyncError,   // a sync fails, and what it should have kept stays in doubt
    kReadError,   // a read fails
  };
  // The `calls`th call from now on that the fault concerns fails; kPowerCut counts writes,
  // truncations and syncs.
  void Arm(Fault fault, int calls);
  bool armed() const { return armed_.has_value(); }
  bool powered() const { return power_; }
  void Disarm() { armed_.reset(); }
  // Writes that would make a file longer answer SQLITE_FULL.
  bool disk_full = false;

  // The machine stops: of each write since its file's last sync all, a part or nothing stays, in
  // any combination. Connections that are open get errors from now on and change nothing.
  void Crash(TestRng& rng);
  // Removes every file. Nothing may be open.
  void Format();

  // The content of the file; null when there is none.
  std::string* Content(const std::string& path);
  std::uint64_t syncs() const { return syncs_; }

  struct Write {
    std::size_t at = 0;
    std::string bytes;
    bool truncate = false;  // to `at`
  };
  struct File {
    std::string content;
    std::string durable;
    std::vector<Write> in_doubt;  // since the last sync, in order
    std::map<const void*, int> locks;
    std::vector<std::unique_ptr<char[]>> shared_memory;
    std::map<const void*, std::pair<unsigned, unsigned>> shared_locks;  // shared, exclusive slots
  };

 private:
  friend struct CrashIo;
  CrashVfs();
  // Whether this call of the kind fails now.
  bool Fails(Fault fault);

  struct Armed {
    Fault fault;
    int calls;
  };
  std::map<std::string, std::shared_ptr<File>> files_;
  std::uint64_t generation_ = 0;  // of the machine's runs
  bool power_ = true;
  std::optional<Armed> armed_;
  std::uint64_t syncs_ = 0;
};

}  // namespace bandana::testing
