// A tall matrix in the layout of the kernels.
#pragma once

#include <cstddef>
#include <vector>

#include "common/linalg/kernels.h"

namespace bandana {

// rows x columns; columns in blocks of kBlockColumns (the last may be narrower), each block as
// panels of kPanelRows rows. Keeps its memory when reshaped, so that one object serves many
// updates. Threads: not thread-safe.
class PackedRows {
 public:
  // All entries become zero.
  void Reshape(int rows, int columns) {
    rows_ = rows;
    columns_ = columns;
    panels_ = (rows + kPanelRows - 1) / kPanelRows;
    data_.assign(static_cast<std::size_t>(panels_) * kPanelRows * columns, 0.0);
  }

  int rows() const { return rows_; }
  int columns() const { return columns_; }
  int panels() const { return panels_; }
  int blocks() const { return (columns_ + kBlockColumns - 1) / kBlockColumns; }
  int block_columns(int block) const {
    const int left = columns_ - block * kBlockColumns;
    return left < kBlockColumns ? left : kBlockColumns;
  }

  double* block(int b) { return data_.data() + BlockOffset(b); }
  const double* block(int b) const { return data_.data() + BlockOffset(b); }
  double& at(int row, int column) { return data_[Offset(row, column)]; }
  double at(int row, int column) const { return data_[Offset(row, column)]; }

 private:
  std::size_t BlockOffset(int b) const {
    return static_cast<std::size_t>(b) * kBlockColumns * panels_ * kPanelRows;
  }
  std::size_t Offset(int row, int column) const {
    const int b = column / kBlockColumns;
    const std::size_t in_panel = column % kBlockColumns;
    return BlockOffset(b) +
           (row / kPanelRows * static_cast<std::size_t>(block_columns(b)) + in_panel) * kPanelRows +
           row % kPanelRows;
  }

  int rows_ = 0;
  int columns_ = 0;
  int panels_ = 0;
  std::vector<double> data_;
};

}  // namespace bandana
