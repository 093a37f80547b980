// A thief's view of stored files: rows, row counts, sizes.
#pragma once

#include <set>
#include <string>

#include "absl/status/status.h"
#include "client/src/store/sqlite.h"
#include "tools/audit/transcript/recorder.h"

namespace bandana::audit {

// `table.column` of which only the size is compared: sealed, or digests of what is sealed.
using SealedColumns = std::set<std::string>;

// Records every row of every table, in the order in which it is stored.
absl::Status RecordRows(device::Database& database, const SealedColumns& sealed,
                        const std::string& prefix, Recorder& out);

// Names and sizes of the files below `folder`, as they are after all write-ahead logs are
// truncated, the rows of the databases among them, and the bytes of decision logs. Works on a copy;
// nobody may write meanwhile. With `blobs_are_raw`, sizes stand for all blobs: a central server's
// own rewards are in them.
absl::Status RecordFolder(const std::string& folder, bool blobs_are_raw, Recorder& out);

// A copy of the folder as a power cut would leave it: what is durable, write-ahead logs included.
absl::Status CopyFolder(const std::string& from, const std::string& to);

}  // namespace bandana::audit
