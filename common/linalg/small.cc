#include "common/linalg/small.h"

#include <Eigen/Cholesky>

namespace bandana::internal {
namespace {

using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using ConstMap = Eigen::Map<const RowMajor>;
using Map = Eigen::Map<RowMajor>;

}  // namespace

void SmallAddOuter(double scale, const double* v, int k, int n, double* c) {
  Map matrix(c, n, n);
  if (k == 1) {
    matrix.selfadjointView<Eigen::Lower>().rankUpdate(Eigen::Map<const Eigen::VectorXd>(v, n),
                                                      scale);
  } else {
    matrix.selfadjointView<Eigen::Lower>().rankUpdate(ConstMap(v, k, n).transpose(), scale);
  }
}

bool SmallFactor(double* a, int n) {
  Map matrix(a, n, n);
  Eigen::Ref<RowMajor> in_place(matrix);
  return Eigen::LLT<Eigen::Ref<RowMajor>>(in_place).info() == Eigen::Success;
}

void SmallSolveLower(const double* l, int n, double* y, int columns) {
  Map right(y, n, columns);
  ConstMap(l, n, n).triangularView<Eigen::Lower>().solveInPlace(right);
}

}  // namespace bandana::internal
