// The tables of the device's store. docs/formats/device_store.md says what their columns mean.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace bandana::device {

enum class Table : std::uint8_t {
  kStore,
  kPolicies,
  kLedger,
  kReports,
  kStreams,
  kSteps,
  kDrawn,
  kKept,
};
inline constexpr int kTables = 8;

struct Column {
  enum class Kind : std::uint8_t { kInteger, kReal, kBytes };
  std::string_view name;
  Kind kind = Kind::kInteger;
};

// Columns are numbered from 0.
struct TableForm {
  std::string_view name;
  std::span<const Column> columns;
  int keys = 1;                 // columns of the key
  int sealed = -1;              // column that is stored sealed; -1: none
  bool empty_in_clear = false;  // empty bytes are stored as they are
  std::span<const int> bound;   // integers and bytes that a seal is bound to, beside the table
  // The fields over which the stored row's last column, `digest`, is computed; none: it has no such
  // column.
  std::span<const int> digested;
};

const TableForm& FormOf(Table table);

}  // namespace bandana::device
