#include "server/service/tokens/key_store.h"

#include <utility>

#include "common/base/erased_text.h"
#include "common/base/status.h"

namespace bandana::server {
namespace {

constexpr char kSharedName[] = "token_keys";
// Tries of an update that other servers are always faster than.
constexpr int kTriesMax = 20;

class FileKeys final : public KeyStore {
 public:
  explicit FileKeys(std::string path) : path_(std::move(path)) {}

  absl::StatusOr<std::string> Stamp() const override {
    BANDANA_ASSIGN_OR_RETURN(const FileStamp stamp, StampOf(path_));
    return absl::StrCat(stamp.inode, " ", stamp.modified_ns, " ", stamp.bytes);
  }
  absl::StatusOr<std::vector<StoredKey>> Read() const override { return ReadKeyFile(path_); }
  absl::StatusOr<Written> Update(ChangeKeys change) override {
    BANDANA_ASSIGN_OR_RETURN(const KeyFileLock file_lock, KeyFileLock::Acquire(path_));
    std::vector<StoredKey> keys;
    if (auto read = ReadKeyFile(path_); read.ok()) {
      keys = *std::move(read);
    } else if (!absl::IsNotFound(read.status())) {
      return read.status();
    }
    BANDANA_RETURN_IF_ERROR(change(keys));
    BANDANA_RETURN_IF_ERROR(WriteKeyFile(path_, keys));
    BANDANA_ASSIGN_OR_RETURN(std::string stamp, Stamp());
    return Written{.keys = std::move(keys), .stamp = std::move(stamp)};
  }

 private:
  const std::string path_;
};

class SharedKeysIn final : public KeyStore {
 public:
  SharedKeysIn(std::shared_ptr<SharedFiles> files, std::string path)
      : files_(std::move(files)), path_(std::move(path)) {}

  absl::StatusOr<std::string> Stamp() const override {
    BANDANA_ASSIGN_OR_RETURN(const std::int64_t version, files_->Version(kSharedName));
    if (version == 0) return NotFound("token keys: there are none");
    return absl::StrCat(version);
  }
  absl::StatusOr<std::vector<StoredKey>> Read() const override {
    std::int64_t version = 0;
    return ReadVersion(version);
  }
  absl::StatusOr<Written> Update(ChangeKeys change) override {
    absl::Status late;
    for (int tried = 0; tried < kTriesMax; ++tried) {
      std::int64_t version = 0;
      absl::StatusOr<std::vector<StoredKey>> keys = ReadVersion(version);
      if (absl::IsNotFound(keys.status())) keys = FirstKeys();
      BANDANA_RETURN_IF_ERROR(keys.status());
      BANDANA_RETURN_IF_ERROR(change(*keys));
      const ErasedText text{FormatKeyFile(*keys)};
      const auto written = files_->Replace(kSharedName, version, text.text, /*secret=*/true);
      if (written.ok()) return Written{.keys = *std::move(keys), .stamp = absl::StrCat(*written)};
      late = written.status();
      if (!absl::IsAborted(late)) return Annotate(late, "token keys");
    }
    return Unavailable("token keys: ", late.message());
  }

 private:
  absl::StatusOr<std::vector<StoredKey>> ReadVersion(std::int64_t& version) const {
    absl::StatusOr<SharedFiles::File> file = files_->Read(kSharedName);
    if (!file.ok()) return Annotate(file.status(), "token keys");
    const ErasedText content{std::move(file->content)};
    version = file->version;
    // Whoever may write the database would know what tokens are sealed with.
    if (!file->sealed)
      return FailedPrecondition("token keys: those in the database are not sealed");
    auto keys = ParseKeyFile(content.text);
    if (!keys.ok()) return DataLoss("token keys: ", keys.status().message());
    return keys;
  }
  absl::StatusOr<std::vector<StoredKey>> FirstKeys() const {
    absl::StatusOr<std::vector<StoredKey>> before = ReadKeyFile(path_);
    if (absl::IsNotFound(before.status())) return std::vector<StoredKey>();
    return before;
  }

  const std::shared_ptr<SharedFiles> files_;
  const std::string path_;
};

}  // namespace

std::shared_ptr<KeyStore> KeysInFile(std::string path) {
  return std::make_shared<FileKeys>(std::move(path));
}

std::shared_ptr<KeyStore> SharedKeys(std::shared_ptr<SharedFiles> files, std::string path) {
  return std::make_shared<SharedKeysIn>(std::move(files), std::move(path));
}

}  // namespace bandana::server
