// The device store's file: how it is made, recognised and checked. docs/formats/device_store.md
// describes it.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "client/src/store/sqlite.h"

namespace bandana::device {

inline constexpr std::int32_t kApplicationId = 0x62646e61;  // "bdna"
inline constexpr std::int32_t kSchemaVersion = 3;
// Migrated when it is opened (Tables::Create): the same tables, other private columns.
inline constexpr std::int32_t kFormerSchemaVersion = 2;

// Opens the store at `path`, or makes one where there is no file: complete or not
// at all, mode 0600. The connection then holds the file's exclusive lock. Errors: UNAVAILABLE I/O,
// or another owner; DATA_LOSS not a device store, of an unknown version, damaged, or gone although
// its anchor says that something was debited; the file is untouched.
absl::StatusOr<std::unique_ptr<Database>> OpenStoreFile(const std::string& path);

// A part of schema.sql: makes the table of kept rows where a file does not have it yet.
const char* SqlOfKeptTable();

// Those tables in memory.
absl::StatusOr<std::unique_ptr<Database>> OpenStoreInMemory();

}  // namespace bandana::device
