#include "tools/import/pca.h"

#include <algorithm>

#include "Spectra/SymEigsSolver.h"
#include "common/base/status.h"

namespace bandana {
namespace {

// A component this much smaller than the first is rounding; so far may eigenvectors be from
// orthonormal.
constexpr double kRankTolerance = 1e-7;

// v -> (X - 1 mu')' (X - 1 mu') v without forming a dense matrix; the interface is Spectra's.
class CenteredGram {
 public:
  using Scalar = double;

  CenteredGram(const SparseRows& rows, const Eigen::VectorXd& mean) : rows_(rows), mean_(mean) {}
  Eigen::Index rows() const { return rows_.cols(); }
  Eigen::Index cols() const { return rows_.cols(); }
  void perform_op(const double* in, double* out) const {
    const Eigen::Map<const Eigen::VectorXd> v(in, rows_.cols());
    Eigen::Map<Eigen::VectorXd> result(out, rows_.cols());
    Eigen::VectorXd scores = rows_ * v;
    scores.array() -= mean_.dot(v);
    // The scores sum to zero, so that centring the left factor too would change nothing.
    result = rows_.transpose() * scores;
  }

 private:
  const SparseRows& rows_;
  const Eigen::VectorXd& mean_;
};

// Where fewer directions exist than were asked for, Spectra 1.0.1 reports success and repeats one
// eigenvector, not even of unit norm.
bool AreOrthonormal(const Eigen::MatrixXd& vectors) {
  const Eigen::MatrixXd gram = vectors.transpose() * vectors;
  const Eigen::Index n = gram.rows();
  return (gram - Eigen::MatrixXd::Identity(n, n)).cwiseAbs().maxCoeff() < kRankTolerance;
}

void FixSigns(Eigen::MatrixXd& vectors) {
  for (Eigen::Index j = 0; j < vectors.cols(); ++j) {
    Eigen::Index largest = 0;
    vectors.col(j).cwiseAbs().maxCoeff(&largest);
    if (vectors(largest, j) < 0) vectors.col(j) = -vectors.col(j);
  }
}

}  // namespace

absl::StatusOr<Eigen::MatrixXd> PrincipalScores(const SparseRows& rows, int dimension) {
  const Eigen::Index smaller = std::min(rows.rows(), rows.cols());
  if (dimension < 1 || dimension >= smaller) {
    return InvalidArgument("dimension must be at least 1 and less than the ", rows.rows(),
                           " artists and the ", rows.cols(), " tags that are kept, got ",
                           dimension);
  }
  const Eigen::VectorXd mean =
      rows.transpose() * Eigen::VectorXd::Constant(rows.rows(), 1.0 / rows.rows());
  CenteredGram gram(rows, mean);
  // Spectra advises a Krylov space of at least twice the wanted vectors.
  const Eigen::Index krylov = std::min<Eigen::Index>(rows.cols(), 2 * dimension + 20);
  Spectra::SymEigsSolver<CenteredGram> solver(gram, dimension, krylov);
  solver.init();
  constexpr int kRestartsMax = 1000;
  constexpr double kTolerance = 1e-12;
  solver.compute(Spectra::SortRule::LargestAlge, kRestartsMax, kTolerance,
                 Spectra::SortRule::LargestAlge);
  if (solver.info() != Spectra::CompInfo::Successful) {
    return Internal("the principal components did not converge");
  }
  Eigen::MatrixXd vectors = solver.eigenvectors();
  FixSigns(vectors);
  Eigen::MatrixXd scores = rows * vectors;
  scores.rowwise() -= (mean.transpose() * vectors).eval();
  const Eigen::RowVectorXd norms = scores.colwise().norm();
  if (!AreOrthonormal(vectors) || !(norms.minCoeff() > kRankTolerance * norms.maxCoeff())) {
    return InvalidArgument("the artists' tags span too few directions for dimension ", dimension);
  }
  return Eigen::MatrixXd(scores.array().rowwise() / norms.array());
}

}  // namespace bandana
