#include "server/models/replicas/part_store.h"

#include <utility>

#include "common/base/status.h"

namespace bandana::server {
namespace {

constexpr char kPartsName[] = "decision_parts";
constexpr char kKeyName[] = "decision_key";
// Tries of a change that other servers are always faster than.
constexpr int kTriesMax = 50;

// Somebody who can write the database alone could take users out of the list, or know the key.
absl::Status CheckSealed(const SharedFiles::File& file, const char* name) {
  if (file.sealed) return absl::OkStatus();
  return FailedPrecondition("log.postgresql: ", name, " in the database are not sealed");
}

}  // namespace

absl::StatusOr<std::shared_ptr<const PseudonymKey>> PartStore::Key() {
  const std::lock_guard lock(mutex_);
  if (key_ != nullptr) return key_;
  absl::StatusOr<SharedFiles::File> file = files_->Read(kKeyName);
  if (absl::IsNotFound(file.status())) {
    BANDANA_ASSIGN_OR_RETURN(const ErasedText made, NewPseudonymKeyText());
    const absl::Status written = files_->Replace(kKeyName, 0, made.text, /*secret=*/true).status();
    // Another server was faster.
    if (!written.ok() && !absl::IsAborted(written)) return Annotate(written, "decision_log");
    file = files_->Read(kKeyName);
  }
  BANDANA_RETURN_IF_ERROR(file.status());
  const ErasedText content{std::move(file->content)};
  BANDANA_RETURN_IF_ERROR(CheckSealed(*file, kKeyName));
  BANDANA_ASSIGN_OR_RETURN(key_, ParsePseudonymKey(content.text, kKeyName));
  return key_;
}

absl::StatusOr<PartStore::Stored> PartStore::ReadAll() const {
  const absl::StatusOr<SharedFiles::File> file = files_->Read(kPartsName);
  if (absl::IsNotFound(file.status())) return Stored{};
  BANDANA_RETURN_IF_ERROR(file.status());
  BANDANA_RETURN_IF_ERROR(CheckSealed(*file, kPartsName));
  BANDANA_ASSIGN_OR_RETURN(LogPartsTable table, DecodeParts(file->content));
  return Stored{.table = std::move(table), .version = file->version};
}

absl::StatusOr<LogParts> PartStore::Read(const InstanceId& instance) const {
  BANDANA_ASSIGN_OR_RETURN(const Stored stored, ReadAll());
  const auto found = stored.table.find(instance);
  return found == stored.table.end() ? LogParts() : found->second;
}

absl::StatusOr<std::int64_t> PartStore::Version() const { return files_->Version(kPartsName); }

absl::StatusOr<LogParts> PartStore::Change(const InstanceId& instance,
                                           const std::function<void(LogParts&)>& change) {
  absl::Status late;
  for (int tried = 0; tried < kTriesMax; ++tried) {
    BANDANA_ASSIGN_OR_RETURN(Stored stored, ReadAll());
    LogParts& parts = stored.table[instance];
    const LogParts before = parts;
    change(parts);
    if (parts == before) return parts;
    late = files_->Replace(kPartsName, stored.version, EncodeParts(stored.table), /*secret=*/true)
               .status();
    if (late.ok()) return parts;
    if (!absl::IsAborted(late)) return Annotate(late, "decision_log");
  }
  return Unavailable("decision_log: ", late.message());
}

}  // namespace bandana::server
