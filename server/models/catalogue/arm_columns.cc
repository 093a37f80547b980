#include "server/models/catalogue/arm_columns.h"

#include <algorithm>
#include <cmath>

namespace bandana::server {
namespace {

constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

bool Lies(const NumberRange& range, double value) {
  return (value >= range.least && value <= range.most) ||
         (range.absent_passes && std::isnan(value));
}

}  // namespace

const ArmColumns::Column* ArmColumns::Find(std::uint32_t field) const {
  const auto found = std::ranges::find(columns_, field, &Column::field);
  return found == columns_.end() ? nullptr : &*found;
}

void ArmColumns::Set(std::uint32_t field, std::uint32_t row, double value) {
  auto column = std::ranges::find(columns_, field, &Column::field);
  if (column == columns_.end()) {
    column = columns_.insert(columns_.end(), {.field = field, .values = {}});
  }
  if (column->values.size() <= row) column->values.resize(row + 1, kNoNumber);
  column->values[row] = value;
}

double ArmColumns::Get(std::uint32_t field, std::uint32_t row) const {
  const Column* const column = Find(field);
  return column == nullptr || row >= column->values.size() ? kNoNumber : column->values[row];
}

bool ArmColumns::Passes(const NumberRange& range, std::uint32_t row) const {
  return Lies(range, Get(range.field, row));
}

void ArmColumns::Keep(const NumberRange& range, std::span<std::uint8_t> marks) const {
  const Column* const column = Find(range.field);
  const std::size_t there = column == nullptr ? 0 : std::min(column->values.size(), marks.size());
  if (!range.absent_passes) std::fill(marks.begin() + static_cast<int>(there), marks.end(), 0);
  if (there == 0) return;
  // Without branches: several rows at a time.
  const double* const values = column->values.data();
  std::uint8_t* const out = marks.data();
  const double least = range.least;
  const double most = range.most;
  const auto absent = static_cast<std::uint8_t>(range.absent_passes);
  for (std::size_t row = 0; row < there; ++row) {
    const double value = values[row];
    const auto inside = static_cast<std::uint8_t>((value >= least) & (value <= most));
    const auto none = static_cast<std::uint8_t>((value != value) & (absent != 0));
    out[row] &= static_cast<std::uint8_t>(inside | none);
  }
}

std::size_t ArmColumns::bytes() const {
  std::size_t sum = columns_.capacity() * sizeof(Column);
  for (const Column& column : columns_) sum += column.values.capacity() * sizeof(double);
  return sum;
}

}  // namespace bandana::server
