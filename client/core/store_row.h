// The one row that says whose store it is and how far it has come.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "client/core/sealed_rows.h"

namespace bandana::device {

// The text that is sealed as StoreRow::key_check, and the name that its seal is bound to.
inline constexpr std::string_view kKeyCheck = "bandana device store";

struct StoreRow {
  std::string identity;  // 16 bytes
  std::int64_t run = 0;
  std::int64_t forgotten = 0;  // decisions up to this number count as drawn
  std::uint64_t position = 0;
  std::uint64_t lost_events = 0;
  std::uint64_t lost_streams = 0;
  std::int64_t ledger_base = 0;  // the last ledger entry that was summarized
  std::string ledger_base_hash;
  std::string key_check;  // sealed, by the store's key

  // Errors: DATA_LOSS no such row, or one without an identity.
  static absl::StatusOr<StoreRow> Read(SealedRows& rows);
  void Write(SealedRows& rows) const;

  // Errors: UNAVAILABLE as Sealer::Seal.
  absl::Status SealKeyCheck(Sealer& sealer);
  // Errors: FAILED_PRECONDITION the sealer has another key.
  absl::Status CheckKey(Sealer& sealer) const;
};

}  // namespace bandana::device
