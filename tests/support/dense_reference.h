// The papers' equations as they are printed, in long double, for comparison with the user-space
// posterior.
#pragma once

#include <Eigen/Dense>
#include <cmath>
#include <span>
#include <utility>

#include "common/bandits/graph.h"
#include "common/bandits/model.h"

namespace bandana::testing {

using LongMatrix = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;
using LongVector = Eigen::Matrix<long double, Eigen::Dynamic, 1>;

// C of x~ = c_u (x) x, row c_u for user u, with P = C C'.
inline LongMatrix IdentityFactor(int nodes) { return LongMatrix::Identity(nodes, nodes); }

// [WZ20] CoLin: C = W', so c_u is column u of W.
inline LongMatrix ColinFactor(const Graph& graph) {
  LongMatrix w = LongMatrix::Zero(graph.nodes, graph.nodes);
  for (const Graph::Entry& e : graph.entries) w(e.row, e.column) += e.weight;
  if (graph.kind == Graph::Kind::kEdgeWeights) {
    for (int u = 0; u < graph.nodes; ++u) w.col(u) /= w.col(u).sum();
  }
  return w.transpose();
}

// [WZ20] GOBLin: C = G^-1/2 with G = I + weight * Laplacian.
inline LongMatrix GoblinFactor(const Graph& graph, long double weight) {
  LongMatrix g = LongMatrix::Identity(graph.nodes, graph.nodes);
  for (const Graph::Entry& e : graph.entries) {
    if (e.row == e.column) continue;
    g(e.row, e.row) += weight * e.weight;
    g(e.row, e.column) -= weight * e.weight;
  }
  return Eigen::SelfAdjointEigenSolver<LongMatrix>(g).operatorInverseSqrt();
}

// Ridge regression in R^{dN}: A = lambda I + sum x~ x~', b = sum x~ r, theta = A^-1 b.
class PaperModel {
 public:
  PaperModel(LongMatrix factor, int dimension, long double lambda)
      : factor_(std::move(factor)),
        dimension_(dimension),
        a_(LongMatrix::Identity(factor_.cols() * dimension, factor_.cols() * dimension) * lambda),
        b_(LongVector::Zero(factor_.cols() * dimension)) {}

  LongVector Lift(int node, std::span<const double> x) const {
    LongVector lifted(a_.rows());
    for (int j = 0; j < factor_.cols(); ++j) {
      for (int i = 0; i < dimension_; ++i) lifted(j * dimension_ + i) = factor_(node, j) * x[i];
    }
    return lifted;
  }
  void Add(const Event& event) {
    const LongVector lifted = Lift(event.node, event.features);
    a_ += lifted * lifted.transpose();
    b_ += lifted * static_cast<long double>(event.reward);
  }
  long double Mean(int node, std::span<const double> x) const {
    return Lift(node, x).dot(Solve(b_));
  }
  long double Width(int node, std::span<const double> x) const {
    const LongVector lifted = Lift(node, x);
    return std::sqrt(lifted.dot(Solve(lifted)));
  }
  long double LogDet() const {
    const LongMatrix l = a_.llt().matrixL();
    return 2 * l.diagonal().array().log().sum();
  }

 private:
  LongVector Solve(const LongVector& y) const {
    const Eigen::LLT<LongMatrix> llt(a_);
    LongVector solution = y;
    llt.solveInPlace(solution);
    return solution;
  }

  LongMatrix factor_;
  int dimension_;
  LongMatrix a_;
  LongVector b_;
};

}  // namespace bandana::testing
