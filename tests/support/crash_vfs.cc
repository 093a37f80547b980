#include "tests/support/crash_vfs.h"

#include <sqlite3.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

namespace bandana::testing {
namespace {

constexpr std::size_t kSectorBytes = 512;

void Store(std::string& content, const CrashVfs::Write& write, std::size_t bytes) {
  if (write.truncate) {
    content.resize(std::min(content.size(), write.at));
    return;
  }
  if (content.size() < write.at + bytes) content.resize(write.at + bytes);
  std::memcpy(content.data() + write.at, write.bytes.data(), bytes);
}

}  // namespace

// The functions that SQLite calls. A handle is of one run of the machine.
struct CrashIo {
  sqlite3_file base;
  std::shared_ptr<CrashVfs::File> file;
  std::uint64_t generation;

  static CrashIo& Of(sqlite3_file* f) { return *reinterpret_cast<CrashIo*>(f); }
  static CrashVfs& Disk() { return CrashVfs::Instance(); }
  bool dead() const { return generation != Disk().generation_; }

  static int Close(sqlite3_file* f) {
    CrashIo& io = Of(f);
    io.file->locks.erase(f);
    io.file->shared_locks.erase(f);
    io.file.~shared_ptr();
    return SQLITE_OK;
  }
  static int Read(sqlite3_file* f, void* out, int n, sqlite3_int64 at) {
    CrashIo& io = Of(f);
    if (io.dead() || Disk().Fails(CrashVfs::Fault::kReadError)) return SQLITE_IOERR_READ;
    const std::string& content = io.file->content;
    const auto from = std::min(content.size(), static_cast<std::size_t>(at));
    const auto there = std::min(content.size() - from, static_cast<std::size_t>(n));
    std::memcpy(out, content.data() + from, there);
    if (there == static_cast<std::size_t>(n)) return SQLITE_OK;
    std::memset(static_cast<char*>(out) + there, 0, static_cast<std::size_t>(n) - there);
    return SQLITE_IOERR_SHORT_READ;
  }
  static int Change(sqlite3_file* f, CrashVfs::Write write, int failure) {
    CrashIo& io = Of(f);
    CrashVfs& disk = Disk();
    if (io.dead() || disk.Fails(CrashVfs::Fault::kPowerCut)) return failure;
    const bool grows = !write.truncate && write.at + write.bytes.size() > io.file->content.size();
    if (disk.disk_full && grows) return SQLITE_FULL;
    if (!write.truncate && disk.Fails(CrashVfs::Fault::kShortWrite)) {
      write.bytes.resize(write.bytes.size() / 2);
      Store(io.file->content, write, write.bytes.size());
      io.file->in_doubt.push_back(std::move(write));
      return failure;
    }
    Store(io.file->content, write, write.bytes.size());
    io.file->in_doubt.push_back(std::move(write));
    return SQLITE_OK;
  }
  static int Write(sqlite3_file* f, const void* bytes, int n, sqlite3_int64 at) {
    return Change(f,
                  {static_cast<std::size_t>(at),
                   std::string(static_cast<const char*>(bytes), static_cast<std::size_t>(n))},
                  SQLITE_IOERR_WRITE);
  }
  static int Truncate(sqlite3_file* f, sqlite3_int64 size) {
    return Change(f, {static_cast<std::size_t>(size), {}, true}, SQLITE_IOERR_TRUNCATE);
  }
  static int Sync(sqlite3_file* f, int) {
    CrashIo& io = Of(f);
    CrashVfs& disk = Disk();
    if (io.dead() || disk.Fails(CrashVfs::Fault::kPowerCut)) return SQLITE_IOERR_FSYNC;
    if (disk.Fails(CrashVfs::Fault::kSyncError)) return SQLITE_IOERR_FSYNC;
    ++disk.syncs_;
    io.file->durable = io.file->content;
    io.file->in_doubt.clear();
    return SQLITE_OK;
  }
  static int FileSize(sqlite3_file* f, sqlite3_int64* size) {
    if (Of(f).dead()) return SQLITE_IOERR_FSTAT;
    *size = static_cast<sqlite3_int64>(Of(f).file->content.size());
    return SQLITE_OK;
  }
  static int Lock(sqlite3_file* f, int level) {
    std::map<const void*, int>& locks = Of(f).file->locks;
    for (const auto& [other, held] : locks) {
      if (other == f) continue;
      const bool conflict = level == SQLITE_LOCK_SHARED     ? held >= SQLITE_LOCK_PENDING
                            : level == SQLITE_LOCK_RESERVED ? held >= SQLITE_LOCK_RESERVED
                                                            : held >= SQLITE_LOCK_SHARED;
      if (conflict) return SQLITE_BUSY;
    }
    locks[f] = std::max(locks[f], level);
    return SQLITE_OK;
  }
  static int Unlock(sqlite3_file* f, int level) {
    Of(f).file->locks[f] = level;
    return SQLITE_OK;
  }
  static int CheckReserved(sqlite3_file* f, int* out) {
    *out = 0;
    for (const auto& [other, held] : Of(f).file->locks) {
      if (held >= SQLITE_LOCK_RESERVED) *out = 1;
    }
    return SQLITE_OK;
  }
  static int Control(sqlite3_file*, int, void*) { return SQLITE_NOTFOUND; }
  static int SectorSize(sqlite3_file*) { return kSectorBytes; }
  static int Characteristics(sqlite3_file*) { return 0; }

  static int ShmMap(sqlite3_file* f, int page, int size, int extend, void volatile** out) {
    auto& pages = Of(f).file->shared_memory;
    while (extend != 0 && pages.size() <= static_cast<std::size_t>(page)) {
      pages.push_back(std::make_unique<char[]>(static_cast<std::size_t>(size)));
    }
    const bool there = static_cast<std::size_t>(page) < pages.size();
    *out = there ? pages[static_cast<std::size_t>(page)].get() : nullptr;
    return SQLITE_OK;
  }
  static int ShmLock(sqlite3_file* f, int offset, int n, int flags) {
    auto& locks = Of(f).file->shared_locks;
    const unsigned slots = ((1u << n) - 1) << offset;
    auto& [shared, exclusive] = locks[f];
    if ((flags & SQLITE_SHM_UNLOCK) != 0) {
      shared &= ~slots;
      exclusive &= ~slots;
      return SQLITE_OK;
    }
    const bool wants_exclusive = (flags & SQLITE_SHM_EXCLUSIVE) != 0;
    for (const auto& [other, held] : locks) {
      if (other == f) continue;
      if ((held.second & slots) != 0) return SQLITE_BUSY;
      if (wants_exclusive && (held.first & slots) != 0) return SQLITE_BUSY;
    }
    (wants_exclusive ? exclusive : shared) |= slots;
    return SQLITE_OK;
  }
  static void ShmBarrier(sqlite3_file*) {}
  static int ShmUnmap(sqlite3_file* f, int remove) {
    Of(f).file->shared_locks.erase(f);
    if (remove != 0) Of(f).file->shared_memory.clear();
    return SQLITE_OK;
  }

  static int Open(sqlite3_vfs*, const char* name, sqlite3_file* f, int flags, int* out_flags) {
    static constexpr sqlite3_io_methods kMethods = {
        2,        Close,         Read,    Write,      Truncate,        Sync,   FileSize, Lock,
        Unlock,   CheckReserved, Control, SectorSize, Characteristics, ShmMap, ShmLock,  ShmBarrier,
        ShmUnmap, nullptr,       nullptr};
    CrashVfs& disk = Disk();
    const std::string path = name == nullptr ? "(temporary)" : name;
    f->pMethods = nullptr;
    if (!disk.power_) return SQLITE_CANTOPEN;
    std::shared_ptr<CrashVfs::File>& file = disk.files_[path];
    if (file == nullptr) file = std::make_shared<CrashVfs::File>();
    auto* io = reinterpret_cast<CrashIo*>(f);
    new (&io->file) std::shared_ptr<CrashVfs::File>(file);
    io->generation = disk.generation_;
    f->pMethods = &kMethods;
    if (out_flags != nullptr) *out_flags = flags;
    return SQLITE_OK;
  }
  // Journals are never deleted while another connection is open, so this happens to old ones only;
  // that it may be undone by a crash is the same as a file of zero bytes.
  static int Delete(sqlite3_vfs*, const char* name, int) {
    if (Disk().Fails(CrashVfs::Fault::kPowerCut)) return SQLITE_IOERR_DELETE;
    Disk().files_.erase(name);
    return SQLITE_OK;
  }
  static int Access(sqlite3_vfs*, const char* name, int, int* out) {
    *out = Disk().files_.contains(name) ? 1 : 0;
    return SQLITE_OK;
  }
  static int FullPathname(sqlite3_vfs*, const char* name, int size, char* out) {
    sqlite3_snprintf(size, out, "%s", name);
    return SQLITE_OK;
  }
};

CrashVfs& CrashVfs::Instance() {
  static CrashVfs* const instance = new CrashVfs;
  return *instance;
}

CrashVfs::CrashVfs() {
  static sqlite3_vfs vfs;
  vfs = *sqlite3_vfs_find(nullptr);
  vfs.zName = kName;
  vfs.szOsFile = static_cast<int>(sizeof(CrashIo));
  vfs.xOpen = CrashIo::Open;
  vfs.xDelete = CrashIo::Delete;
  vfs.xAccess = CrashIo::Access;
  vfs.xFullPathname = CrashIo::FullPathname;
  if (sqlite3_vfs_register(&vfs, /*makeDflt=*/0) != SQLITE_OK) std::abort();
}

void CrashVfs::Arm(Fault fault, int calls) { armed_ = Armed{fault, calls}; }

bool CrashVfs::Fails(Fault fault) {
  if (!power_) return true;
  if (!armed_ || armed_->fault != fault || --armed_->calls > 0) return false;
  armed_.reset();
  if (fault == Fault::kPowerCut) power_ = false;
  return true;
}

void CrashVfs::Crash(TestRng& rng) {
  for (auto& [path, file] : files_) {
    std::string content = file->durable;
    for (const Write& write : file->in_doubt) {
      const std::uint64_t fate = rng.Index(4);
      if (fate == 0) continue;
      // A sector is written whole or not at all.
      std::size_t bytes = write.bytes.size();
      if (fate == 1 && bytes > kSectorBytes) {
        bytes = kSectorBytes * (1 + rng.Index(bytes / kSectorBytes));
        bytes = std::min(bytes, write.bytes.size());
      }
      Store(content, write, bytes);
    }
    // Handles of the old run keep the old object.
    auto next = std::make_shared<File>();
    next->content = next->durable = std::move(content);
    file = std::move(next);
  }
  ++generation_;
  power_ = true;
  armed_.reset();
  disk_full = false;
}

void CrashVfs::Format() {
  files_.clear();
  ++generation_;
  power_ = true;
  armed_.reset();
  disk_full = false;
}

std::string* CrashVfs::Content(const std::string& path) {
  const auto it = files_.find(path);
  return it == files_.end() ? nullptr : &it->second->content;
}

}  // namespace bandana::testing
