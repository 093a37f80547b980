// [SS18] Algorithm 1 with changing perturbations, as printed.
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "common/bandits/statistics.h"
#include "common/base/status.h"
#include "common/linalg/symmetric.h"
#include "research/compact/column_scoring.h"
#include "research/lab/neurips18/policy.h"
#include "research/lab/noise.h"
#include "research/published/jdp_regularizer.h"
#include "research/published/wishart.h"

namespace bandana::lab {
namespace {

// A node's noise: a random symmetric matrix of d + 1 rows, packed.
struct NodeNoise {
  std::optional<JdpGaussian> gaussian;
  std::optional<JdpWishart> wishart;

  int levels() const { return gaussian ? gaussian->levels : wishart->levels; }
  const Regularizer& regularizer() const {
    return gaussian ? gaussian->regularizer : wishart->regularizer;
  }
  absl::Status Sample(int rows, std::span<double> packed, BitSource& bits) const {
    if (gaussian) return SampleSymmetricGaussian(rows, gaussian->sigma, packed, bits);
    return SampleWishart(rows, wishart->degrees, wishart->variance, packed, bits);
  }
};

// The sum of the noise of the nodes that make up the prefix of t rounds: those of t's set bits.
// For Wishart noise a level whose bit is not set has a matrix of padding, drawn once and kept, so
// that `levels` of them stand in the sum at any round.
class GramTree {
 public:
  static absl::StatusOr<GramTree> Create(const NodeNoise& noise, int rows, BitSource& bits) {
    GramTree tree(noise, rows);
    if (!noise.wishart) return tree;
    for (int level = 0; level < noise.levels(); ++level)
      BANDANA_RETURN_IF_ERROR(noise.Sample(rows, tree.Node(tree.padding_, level), bits));
    for (std::size_t i = 0; i < tree.padding_.size(); ++i)
      tree.sum_[i % tree.size_] += tree.padding_[i];
    return tree;
  }

  // To the next round. Errors: UNAVAILABLE; FAILED_PRECONDITION past the horizon's levels.
  absl::Status Step(BitSource& bits) {
    const int level = __builtin_ctzll(++rounds_);
    if (level >= noise_.levels()) return FailedPrecondition("the tree's horizon is reached");
    for (int below = 0; below < level; ++below) {
      Add(Node(nodes_, below), -1);
      if (noise_.wishart) Add(Node(padding_, below), 1);
    }
    if (noise_.wishart) Add(Node(padding_, level), -1);
    BANDANA_RETURN_IF_ERROR(noise_.Sample(rows_, Node(nodes_, level), bits));
    Add(Node(nodes_, level), 1);
    return absl::OkStatus();
  }

  // Packed lower triangle; its last row holds the noise of the moment.
  std::span<const double> sum() const { return sum_; }

 private:
  GramTree(const NodeNoise& noise, int rows)
      : noise_(noise),
        rows_(rows),
        size_(PackedIndex(rows, 0)),
        sum_(size_, 0.0),
        nodes_(size_ * noise.levels(), 0.0),
        padding_(noise.wishart ? nodes_.size() : 0, 0.0) {}

  std::span<double> Node(std::vector<double>& nodes, int level) const {
    return std::span(nodes).subspan(level * size_, size_);
  }
  void Add(std::span<const double> node, double sign) {
    for (std::size_t i = 0; i < size_; ++i) sum_[i] += sign * node[i];
  }

  NodeNoise noise_;
  int rows_;
  std::size_t size_;
  std::uint64_t rounds_ = 0;
  std::vector<double> sum_;
  std::vector<double> nodes_, padding_;  // a run of size_ each level
};

class Published final : public RoundPolicy {
 public:
  Published(const PolicyOptions& options, const NodeNoise& noise, GramTree tree,
            std::unique_ptr<LabNoise> bits)
      : options_(options),
        noise_(noise),
        tree_(std::move(tree)),
        bits_(std::move(bits)),
        statistics_(EmptyStatistics(options.dimension)) {}

  absl::StatusOr<int> Choose(const float* x, std::size_t stride, int arms) override {
    SetScorer();
    return scorer_.Best(x, stride, arms);
  }

  absl::Status Learn(std::span<const double> x, double reward) override {
    AddEvent({0, x, reward}, statistics_);
    return tree_.Step(*bits_);
  }

  std::string mechanism() const override {
    if (noise_.gaussian) return "shifted Gaussian tree";
    return noise_.regularizer().shift == 0 ? "Wishart tree" : "shifted Wishart tree";
  }
  std::uint64_t grams_repaired() const override { return repaired_; }

 private:
  void SetScorer() {
    const int d = options_.dimension;
    const std::size_t ld = d;
    const Regularizer& regularizer = noise_.regularizer();
    v_.assign(ld * ld, 0.0);
    moment_.assign(ld, 0.0);
    for (int i = 0; i < d; ++i) {
      for (int j = 0; j <= i; ++j) {
        const int at = PackedIndex(i, j);
        v_[i * ld + j] = statistics_.gram[at] + tree_.sum()[at];
      }
      v_[i * ld + i] += regularizer.shift;
      moment_[i] = statistics_.moment[i] + tree_.sum()[PackedIndex(d, i)];
    }
    factor_ = v_;
    // V_t >= rho_min I but with probability alpha; a pivot below is set to rho_min and counted.
    if (FactorWithFloor(factor_.data(), d, regularizer.rho_min) > 0) ++repaired_;
    double log_det = 0;
    for (int i = 0; i < d; ++i) log_det += 2 * std::log(factor_[i * ld + i]);
    InvertInPlace(v_, d, regularizer.rho_min);
    mean_.assign(ld, 0.0);
    for (std::size_t i = 0; i < ld; ++i) {
      for (std::size_t j = 0; j < ld; ++j) mean_[i] += v_[i * ld + j] * moment_[j];
    }
    const double beta = JdpBeta({.reward_stddev = 1,
                                 .theta_norm_max = options_.theta_l2_max,
                                 .dimension = d,
                                 .log_det = log_det},
                                regularizer);
    scorer_.Set(mean_, v_, beta);
  }

  PolicyOptions options_;
  NodeNoise noise_;
  GramTree tree_;
  std::unique_ptr<LabNoise> bits_;
  NodeStatistics statistics_;
  ColumnScorer scorer_;
  std::uint64_t repaired_ = 0;
  std::vector<double> v_, factor_, moment_, mean_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<RoundPolicy>> MakePublished(const PolicyOptions& options,
                                                           std::string_view label) {
  const JdpOptions jdp = {.epsilon = options.epsilon,
                          .delta = options.delta,
                          .dimension = options.dimension,
                          .horizon = options.horizon};
  NodeNoise noise;
  if (label == "published") {
    BANDANA_ASSIGN_OR_RETURN(noise.gaussian, DesignJdpGaussian(jdp));
  } else {
    BANDANA_ASSIGN_OR_RETURN(noise.wishart,
                             DesignJdpWishart(jdp, label == "published-wishart-shifted"));
  }
  BANDANA_ASSIGN_OR_RETURN(std::unique_ptr<LabNoise> bits, LabNoise::Create(options.seed, 0));
  BANDANA_ASSIGN_OR_RETURN(GramTree tree, GramTree::Create(noise, options.dimension + 1, *bits));
  return std::make_unique<Published>(options, noise, std::move(tree), std::move(bits));
}

}  // namespace bandana::lab
