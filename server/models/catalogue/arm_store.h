// The durable catalogue of one model.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/sha256.h"
#include "server/log/state/row_table.h"
#include "server/models/catalogue/arm_page.h"

namespace bandana::server {

// Not thread-safe.
class ArmStore {
 public:
  // Opens or makes it. Errors: DATA_LOSS damaged; UNAVAILABLE I/O.
  static absl::StatusOr<ArmStore> Open(const TablePlace& place);
  // In a SQLite file.
  static absl::StatusOr<ArmStore> Open(const std::string& path);

  // Every arm, ascending by id. Errors: DATA_LOSS; UNAVAILABLE I/O.
  absl::StatusOr<std::vector<CatalogueArm>> Load();
  // One transaction each, durable on return. With them what the change does to keys. Errors: as
  // RowTable::Change.
  absl::Status Put(std::span<const CatalogueArm> arms, const KeyChange& keys = {});
  absl::Status Remove(std::span<const std::uint32_t> ids, const KeyChange& keys = {});
  // As Put, and remembers the digest of the file that the arms came from.
  absl::Status PutFromFile(std::span<const CatalogueArm> arms, const Sha256Digest& file,
                           const KeyChange& keys = {});
  // Digest of the last PutFromFile, zero when there was none.
  const Sha256Digest& file() const { return table_->file(); }

  // For who follows a catalogue that another server changes: the arms that were put since
  // `version`, in `arms`. Where what comes back is `whole`, there are no others. Errors: as Load.
  std::int64_t version() const { return table_->version(); }
  absl::StatusOr<RowsSince> ChangesSince(std::int64_t version, std::vector<CatalogueArm>& arms);

  // For LeavingKeys.
  RowTable& table() { return *table_; }

 private:
  explicit ArmStore(std::unique_ptr<RowTable> table) : table_(std::move(table)) {}

  std::unique_ptr<RowTable> table_;
};

}  // namespace bandana::server
