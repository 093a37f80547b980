#include "client/src/store/schema.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <set>
#include <span>
#include <utility>

#include "client/src/store/anchor.h"
#include "client/src/store/schema_sql.h"
#include "common/base/sha256.h"
#include "common/base/status.h"
#include "common/random/bit_source.h"

namespace bandana::device {
namespace {

absl::Status IoError(const std::string& path, const char* what) {
  return Unavailable("device store: cannot ", what, " ", path, ": ", std::strerror(errno));
}

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() {
    if (fd_ >= 0) close(fd_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

absl::Status SyncFolderOf(const std::string& path) {
  const auto slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  FileDescriptor fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() < 0 || fsync(fd.get()) != 0) return IoError(folder, "sync");
  return absl::OkStatus();
}

// The identity and the hash before the first ledger entry are random.
absl::Status CreateTables(Database& database) {
  std::array<std::byte, 48> random;
  BANDANA_RETURN_IF_ERROR(SystemBits().Fill(random));
  BANDANA_RETURN_IF_ERROR(database.Execute("BEGIN IMMEDIATE"));
  BANDANA_RETURN_IF_ERROR(database.Execute(kSchema));
  {
    BANDANA_ASSIGN_OR_RETURN(
        Statement insert,
        database.Prepare("INSERT INTO store VALUES (1, ?1, 0, 0, 0, 0, 0, 0, ?2, x'')"));
    insert.BindBlob(1, AsChars(std::span(random).first(16)))
        .BindBlob(2, AsChars(std::span(random).last(32)))
        .Run();
  }
  BANDANA_RETURN_IF_ERROR(database.failure());
  BANDANA_RETURN_IF_ERROR(database.Execute(absl::StrCat("PRAGMA application_id=", kApplicationId,
                                                        "; PRAGMA user_version=", kSchemaVersion)
                                               .c_str()));
  return database.Execute("COMMIT");
}

// A file that vanished takes the ledger with it; its anchor tells.
absl::Status CheckNoStoreIsMissing(const std::string& path) {
  const auto anchor = Anchor::Open(Anchor::PathOf(path));
  if (absl::IsNotFound(anchor.status())) return absl::OkStatus();
  BANDANA_RETURN_IF_ERROR(anchor.status());
  if ((*anchor)->mark().position == 0) {
    unlink(Anchor::PathOf(path).c_str());
    return absl::OkStatus();
  }
  return DataLoss("device store: ", path,
                  " is gone, and with it the ledger: restore it, or remove ", Anchor::PathOf(path),
                  " to begin anew");
}

// Builds the whole file under another name and links it into place: a crash on the way leaves no
// half-made store, and a store that another process made meanwhile is not overwritten.
absl::Status CreateFile(const std::string& path) {
  BANDANA_RETURN_IF_ERROR(CheckNoStoreIsMissing(path));
  const std::string draft = absl::StrCat(path, ".new-", getpid());
  {
    FileDescriptor fd(open(draft.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (fd.get() < 0) return IoError(path, "create");
  }
  absl::Status status;
  {
    auto database = Database::Open(draft);
    status = database.status();
    if (status.ok()) status = (*database)->Execute("PRAGMA synchronous=FULL");
    if (status.ok()) status = CreateTables(**database);
  }
  if (status.ok() && link(draft.c_str(), path.c_str()) != 0 && errno != EEXIST) {
    status = IoError(path, "create");
  }
  unlink(draft.c_str());
  if (status.ok()) status = SyncFolderOf(path);
  return status;
}

// The files that this process holds. Closing any descriptor of a file drops the process's POSIX
// locks on it, so a file that is open here must not even be looked at a second time.
class OpenFiles {
 public:
  using File = std::pair<dev_t, ino_t>;

  // A claim that ends with the returned object. Errors: UNAVAILABLE claimed already.
  static absl::StatusOr<std::shared_ptr<void>> Claim(const std::string& path) {
    struct stat info;
    if (stat(path.c_str(), &info) != 0) return IoError(path, "open");
    const File file = {info.st_dev, info.st_ino};
    const std::lock_guard lock(mutex());
    if (!files().insert(file).second) {
      return Unavailable("device store: ", path, " is owned by another DeviceStore");
    }
    return std::shared_ptr<void>(nullptr, [file](void*) {
      const std::lock_guard lock(mutex());
      files().erase(file);
    });
  }

 private:
  static std::mutex& mutex() {
    static auto& mutex = *new std::mutex;
    return mutex;
  }
  static std::set<File>& files() {
    static auto& files = *new std::set<File>;
    return files;
  }
};

std::int32_t BigEndian32(const unsigned char* bytes) {
  return static_cast<std::int32_t>(std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 |
                                   std::uint32_t{bytes[2]} << 8 | std::uint32_t{bytes[3]});
}

// Reads the header without SQLite: opening a foreign database could already roll back or
// checkpoint it.
absl::Status CheckHeader(const std::string& path) {
  FileDescriptor fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) return IoError(path, "open");
  struct stat info;
  if (fstat(fd.get(), &info) != 0) return IoError(path, "open");
  if (!S_ISREG(info.st_mode)) return DataLoss(path, " is not a file");
  unsigned char header[100] = {};
  const ssize_t read_bytes = pread(fd.get(), header, sizeof(header), 0);
  if (read_bytes < 0) return IoError(path, "read");
  if (read_bytes < static_cast<ssize_t>(sizeof(header)) ||
      std::memcmp(header, "SQLite format 3", 16) != 0 ||
      BigEndian32(header + 68) != kApplicationId) {
    return DataLoss(path, " is not a bandana device store");
  }
  const auto version = BigEndian32(header + 60);
  if (version != kSchemaVersion && version != kFormerSchemaVersion) {
    return DataLoss(path, " has device store format ", version, ", this version reads ",
                    kFormerSchemaVersion, " and ", kSchemaVersion);
  }
  const std::uint32_t page =
      header[16] == 0 && header[17] == 1 ? 65536 : header[16] << 8 | header[17];
  if (page == 0 || info.st_size % page != 0) return DataLoss(path, " is torn: not whole pages");
  // Other users of the machine have no business in it.
  if ((info.st_mode & 077) != 0 && chmod(path.c_str(), 0600) != 0) return IoError(path, "protect");
  return absl::OkStatus();
}

absl::Status Verify(Database& database) {
  BANDANA_ASSIGN_OR_RETURN(Statement check, database.Prepare("PRAGMA quick_check(1)"));
  const bool answered = check.Step();
  BANDANA_RETURN_IF_ERROR(database.failure());
  if (!answered || check.Blob(0) != "ok") return DataLoss("device store: damaged");
  return absl::OkStatus();
}

// Nothing is written before the check is over.
absl::Status LockAndVerify(Database& database) {
  BANDANA_RETURN_IF_ERROR(database.Execute("PRAGMA locking_mode=EXCLUSIVE"));
  BANDANA_RETURN_IF_ERROR(Verify(database));
  // The lock is taken by the first transaction and kept until the connection closes.
  return database.Execute(
      "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA secure_delete=ON;"
      "PRAGMA wal_autocheckpoint=0; PRAGMA temp_store=MEMORY; BEGIN EXCLUSIVE; COMMIT");
}

}  // namespace

absl::StatusOr<std::unique_ptr<Database>> OpenStoreFile(const std::string& path) {
  struct stat info;
  if (lstat(path.c_str(), &info) != 0) {
    if (errno != ENOENT) return IoError(path, "open");
    BANDANA_RETURN_IF_ERROR(CreateFile(path));
  }
  BANDANA_ASSIGN_OR_RETURN(auto claim, OpenFiles::Claim(path));
  BANDANA_RETURN_IF_ERROR(CheckHeader(path));
  BANDANA_ASSIGN_OR_RETURN(auto database, Database::Open(path));
  database->Keep(std::move(claim));
  BANDANA_RETURN_IF_ERROR(Annotate(LockAndVerify(*database), path));
  return database;
}

const char* SqlOfKeptTable() { return std::strstr(kSchema, "CREATE TABLE IF NOT EXISTS kept"); }

absl::StatusOr<std::unique_ptr<Database>> OpenStoreInMemory() {
  BANDANA_ASSIGN_OR_RETURN(auto database, Database::Open(":memory:"));
  BANDANA_RETURN_IF_ERROR(CreateTables(*database));
  return database;
}

}  // namespace bandana::device
