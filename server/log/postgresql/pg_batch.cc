#include "server/log/postgresql/pg_batch.h"

#include <cstddef>
#include <cstring>

#include "common/base/bytes.h"
#include "common/base/status.h"
#include "common/model/entries/log_entry.h"

namespace bandana::server {

absl::StatusOr<Sha256Digest> HashOf(std::string_view bytes) {
  Sha256Digest hash{};
  if (bytes.size() != hash.size()) {
    return DataLoss("log: a running hash must have ", hash.size(), " bytes, got ", bytes.size());
  }
  std::memcpy(hash.data(), bytes.data(), hash.size());
  return hash;
}

std::string EncodeRecords(std::span<const std::string> records) {
  std::string bytes;
  ByteWriter out(bytes);
  for (const std::string& record : records) out.Block(record);
  return bytes;
}

absl::StatusOr<StoredBatch> DecodeBatchRow(const PgResult& rows, int row) {
  StoredBatch batch{.last = static_cast<std::uint64_t>(rows.Int(row, 0)),
                    .first = static_cast<std::uint64_t>(rows.Int(row, 1)),
                    .key = rows.Int(row, 3)};
  BANDANA_ASSIGN_OR_RETURN(batch.hash_before, HashOf(rows.Bytes(row, 2)));
  ByteReader in(rows.Bytes(row, 4));
  while (in.ok() && in.remaining() > 0) batch.records.emplace_back(in.Block());
  if (!in.ok() || batch.first == 0 || batch.records.size() != batch.last - batch.first + 1) {
    return DataLoss("log entry ", batch.first, ": its batch is damaged");
  }
  return batch;
}

absl::Status CutBatch(StoredBatch& batch, std::uint64_t through) {
  if (batch.last == 0) return absl::OkStatus();
  if (through < batch.first || through >= batch.last) {
    return DataLoss("log entry ", batch.first, ": its batch is not the one to cut");
  }
  const auto gone = static_cast<std::ptrdiff_t>(through - batch.first + 1);
  for (std::ptrdiff_t i = 0; i < gone; ++i) {
    batch.hash_before = ChainHash(batch.hash_before, batch.records[static_cast<std::size_t>(i)]);
  }
  batch.records.erase(batch.records.begin(), batch.records.begin() + gone);
  batch.first = through + 1;
  return absl::OkStatus();
}

}  // namespace bandana::server
