// Artists as weighted bags of tags.
#pragma once

#include <span>
#include <vector>

#include "Eigen/SparseCore"
#include "tools/import/hetrec_files.h"

namespace bandana {

using SparseRows = Eigen::SparseMatrix<double, Eigen::RowMajor>;

struct TfIdf {
  std::vector<int> artists;  // id of each row, ascending
  std::vector<int> tags;     // id of each column, ascending
  SparseRows rows;           // unit L2 norm each
};

// Row i, column t: n_it * ln(n / n_t), then each row over its L2 norm. n_it: users who gave tag t
// to artist i; n: artists that have a kept tag; n_t: those of them that have t. Tags used on fewer
// than `tag_artists_min` artists are dropped: they say little of anything but those. Artists whose
// row is zero (no kept tag, or only tags that all have) are dropped.
TfIdf ComputeTfIdf(std::span<const TagAssignment> assignments, int tag_artists_min);

}  // namespace bandana
