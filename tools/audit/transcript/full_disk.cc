#include "tools/audit/transcript/full_disk.h"

#include <sqlite3.h>

#include <string_view>

#include "common/base/status.h"

namespace bandana::audit {
namespace {

thread_local FullDisk::Whose full = FullDisk::Whose::kNobodys;

// The default VFS's file follows behind.
struct File {
  sqlite3_file base;
  FullDisk::Whose whose;
  sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};

sqlite3_file* Real(sqlite3_file* file) { return reinterpret_cast<File*>(file)->real(); }
const sqlite3_io_methods* Methods(sqlite3_file* file) { return Real(file)->pMethods; }

int Close(sqlite3_file* f) { return Methods(f)->xClose(Real(f)); }
int Read(sqlite3_file* f, void* p, int n, sqlite3_int64 at) {
  return Methods(f)->xRead(Real(f), p, n, at);
}
int Write(sqlite3_file* f, const void* p, int n, sqlite3_int64 at) {
  const FullDisk::Whose whose = reinterpret_cast<File*>(f)->whose;
  if (whose != FullDisk::Whose::kNobodys && whose == full) return SQLITE_FULL;
  return Methods(f)->xWrite(Real(f), p, n, at);
}
int Truncate(sqlite3_file* f, sqlite3_int64 n) { return Methods(f)->xTruncate(Real(f), n); }
int Sync(sqlite3_file*, int) { return SQLITE_OK; }
int FileSize(sqlite3_file* f, sqlite3_int64* n) { return Methods(f)->xFileSize(Real(f), n); }
int Lock(sqlite3_file* f, int level) { return Methods(f)->xLock(Real(f), level); }
int Unlock(sqlite3_file* f, int level) { return Methods(f)->xUnlock(Real(f), level); }
int CheckReserved(sqlite3_file* f, int* out) {
  return Methods(f)->xCheckReservedLock(Real(f), out);
}
int Control(sqlite3_file* f, int op, void* arg) {
  return Methods(f)->xFileControl(Real(f), op, arg);
}
int SectorSize(sqlite3_file* f) { return Methods(f)->xSectorSize(Real(f)); }
int Characteristics(sqlite3_file* f) { return Methods(f)->xDeviceCharacteristics(Real(f)); }
int ShmMap(sqlite3_file* f, int page, int size, int extend, void volatile** out) {
  return Methods(f)->xShmMap(Real(f), page, size, extend, out);
}
int ShmLock(sqlite3_file* f, int offset, int n, int flags) {
  return Methods(f)->xShmLock(Real(f), offset, n, flags);
}
void ShmBarrier(sqlite3_file* f) { Methods(f)->xShmBarrier(Real(f)); }
int ShmUnmap(sqlite3_file* f, int remove) { return Methods(f)->xShmUnmap(Real(f), remove); }

constexpr sqlite3_io_methods kMethods = {
    2,        Close,         Read,    Write,      Truncate,        Sync,   FileSize, Lock,
    Unlock,   CheckReserved, Control, SectorSize, Characteristics, ShmMap, ShmLock,  ShmBarrier,
    ShmUnmap, nullptr,       nullptr};

FullDisk::Whose WhoseIs(const char* name) {
  const std::string_view path = name == nullptr ? "" : name;
  if (path.find("/phone") != std::string_view::npos) return FullDisk::Whose::kDevices;
  if (path.find("/server") != std::string_view::npos) return FullDisk::Whose::kServers;
  return FullDisk::Whose::kNobodys;
}

int Open(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  auto* real_vfs = static_cast<sqlite3_vfs*>(vfs->pAppData);
  auto* own = reinterpret_cast<File*>(file);
  file->pMethods = nullptr;
  own->whose = WhoseIs(name);
  const int code = real_vfs->xOpen(real_vfs, name, own->real(), flags, out_flags);
  if (code == SQLITE_OK) file->pMethods = &kMethods;
  return code;
}

int Register() {
  static sqlite3_vfs vfs;
  if (const int code = sqlite3_initialize(); code != SQLITE_OK) return code;
  sqlite3_vfs* const real = sqlite3_vfs_find(nullptr);
  vfs = *real;
  vfs.zName = "bandana-audit";
  vfs.szOsFile = static_cast<int>(sizeof(File)) + real->szOsFile;
  vfs.pAppData = real;
  vfs.xOpen = Open;
  return sqlite3_vfs_register(&vfs, /*makeDflt=*/1);
}

}  // namespace

absl::Status FullDisk::Install() {
  static const int code = Register();
  return code == SQLITE_OK ? absl::OkStatus() : Unavailable("SQLite: ", sqlite3_errstr(code));
}

void FullDisk::Set(Whose whose) { full = whose; }

}  // namespace bandana::audit
