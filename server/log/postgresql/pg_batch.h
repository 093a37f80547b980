// The records of one transaction, as a row of bandana.batches holds them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/sha256.h"
#include "server/log/postgresql/pg_connection.h"

namespace bandana::server {

struct StoredBatch {
  std::uint64_t last = 0;   // sequence of the last record; 0: no batch
  std::uint64_t first = 0;  // and of the first
  Sha256Digest hash_before{};
  std::int64_t key = 0;              // that the records are sealed under
  std::vector<std::string> records;  // as they are under the running hash
};

// Errors: DATA_LOSS another length.
absl::StatusOr<Sha256Digest> HashOf(std::string_view bytes);

std::string EncodeRecords(std::span<const std::string> records);
// A row of last_sequence, first_sequence, hash_before, seal_key, records. Errors: DATA_LOSS.
absl::StatusOr<StoredBatch> DecodeBatchRow(const PgResult& rows, int row);
// Drops the records up to `through`, of a batch that goes beyond it. Errors: DATA_LOSS it does not.
absl::Status CutBatch(StoredBatch& batch, std::uint64_t through);

}  // namespace bandana::server
