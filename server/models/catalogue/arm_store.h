// The durable catalogue of one model: a SQLite file beside the log, because no statistics depend on
// it and a large PutArms must not hold up reports.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/sha256.h"
#include "server/log/sqlite.h"
#include "server/models/catalogue/arm_page.h"
#include "server/models/freeing/leaving_keys.h"

namespace bandana::server {

// Not thread-safe.
class ArmStore {
 public:
  // Opens or makes the file. Errors: DATA_LOSS damaged; UNAVAILABLE I/O.
  static absl::StatusOr<ArmStore> Open(const std::string& path);

  // Every arm, ascending by id. Errors: DATA_LOSS.
  absl::StatusOr<std::vector<CatalogueArm>> Load();
  // One transaction each, durable on return. Errors: RESOURCE_EXHAUSTED no space; UNAVAILABLE I/O;
  // DATA_LOSS.
  // With them what the change does to keys.
  absl::Status Put(std::span<const CatalogueArm> arms, const KeyChange& keys = {});
  absl::Status Remove(std::span<const std::uint32_t> ids, const KeyChange& keys = {});
  // As Put, and remembers the digest of the file that the arms came from.
  absl::Status PutFromFile(std::span<const CatalogueArm> arms, const Sha256Digest& file,
                           const KeyChange& keys = {});
  // Digest of the last PutFromFile, zero when there was none.
  const Sha256Digest& file() const { return file_; }
  // For LeavingKeys.
  SqliteConnection& connection() { return connection_; }

 private:
  explicit ArmStore(SqliteConnection connection) : connection_(std::move(connection)) {}
  absl::StatusOr<std::int64_t> Version();
  absl::Status MakeTables();
  // `body` tells how many arms more there are than before.
  template <typename Body>
  absl::Status Transaction(const Sha256Digest& file, const Body& body);
  // 1 where the arm is stored, else 0.
  static absl::StatusOr<std::int64_t> CountOf(SqliteStatement& count, std::uint32_t id);
  absl::Status PutRows(std::span<const CatalogueArm> arms, std::int64_t& added);

  SqliteConnection connection_;
  Sha256Digest file_{};
};

}  // namespace bandana::server
