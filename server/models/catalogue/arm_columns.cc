#include "server/models/catalogue/arm_columns.h"

#include <algorithm>
#include <cmath>
#include <cstring>

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
  // Without branches, eight rows at a time: comparisons of doubles become masks of as many bytes.
  constexpr std::size_t kTogether = 8;
  const double* const values = column->values.data();
  const auto bit = [&range](double value) {
    const bool outside = range.absent_passes ? (value < range.least) | (value > range.most)
                                             : !((value >= range.least) & (value <= range.most));
    return static_cast<std::uint8_t>(!outside);
  };
  std::size_t row = 0;
  for (; row + kTogether <= there; row += kTogether) {
    std::int64_t inside[kTogether];
    if (range.absent_passes) {
      for (std::size_t i = 0; i < kTogether; ++i) {
        inside[i] = !(values[row + i] < range.least) & !(values[row + i] > range.most);
      }
    } else {
      for (std::size_t i = 0; i < kTogether; ++i) {
        inside[i] = (values[row + i] >= range.least) & (values[row + i] <= range.most);
      }
    }
    std::uint64_t eight = 0;
    for (std::size_t i = 0; i < kTogether; ++i) {
      eight |= static_cast<std::uint64_t>(inside[i]) << (8 * i);
    }
    std::uint64_t before = 0;
    std::memcpy(&before, marks.data() + row, sizeof before);
    before &= eight;
    std::memcpy(marks.data() + row, &before, sizeof before);
  }
  for (; row < there; ++row) marks[row] &= bit(values[row]);
}

std::size_t ArmColumns::bytes() const {
  std::size_t sum = columns_.capacity() * sizeof(Column);
  for (const Column& column : columns_) sum += column.values.capacity() * sizeof(double);
  return sum;
}

}  // namespace bandana::server
