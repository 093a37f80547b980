#include "common/bandits/component.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "common/bandits/statistics.h"
#include "common/bandits/vectors.h"
#include "common/base/check.h"
#include "common/linalg/symmetric.h"

namespace bandana {
namespace {

// Pivots of K_uu relative to its trace, and of the update of Update: below it fewer than four
// digits of them are left.
constexpr double kPivotMin = 1e-12;

// Rebuild takes the inverse of A itself where that is faster and exact enough: the least variance
// in it is 1 / trace(A) or more, and rounding is about 2^-52 of the largest, which is at most 1.
constexpr int kInverseRowsMin = 256;
constexpr double kInverseTraceMax = 1e7;

double Dot(const double* a, const double* b, int n) {
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

// I + L' (H_next - H_old) L, d x d, lower triangle, for lower triangular L.
std::vector<double> ChangeSeenThrough(const std::vector<double>& l, const EffectiveStatistics& old,
                                      const EffectiveStatistics& next, std::size_t d) {
  std::vector<double> product(d * d, 0.0);  // (H_next - H_old) L
  for (std::size_t i = 0; i < d; ++i) {
    for (std::size_t j = 0; j < d; ++j) {
      const std::size_t at =
          PackedIndex(static_cast<int>(std::max(i, j)), static_cast<int>(std::min(i, j)));
      const double change = next.information[at] - old.information[at];
      for (std::size_t c = 0; c <= j; ++c) product[i * d + c] += change * l[j * d + c];
    }
  }
  std::vector<double> seen(d * d, 0.0);
  for (std::size_t i = 0; i < d; ++i) {
    for (std::size_t row = i; row < d; ++row) {
      for (std::size_t j = 0; j <= i; ++j) seen[i * d + j] += l[row * d + i] * product[row * d + j];
    }
    seen[i * d + i] += 1;
  }
  return seen;
}

}  // namespace

std::shared_ptr<const ComponentPrior> MakeComponentPrior(const CouplingComponent& coupling) {
  auto prior = std::make_shared<ComponentPrior>();
  prior->n = static_cast<int>(coupling.nodes.size());
  prior->p = coupling.prior;
  prior->factor = FactorSemidefinite(prior->p, prior->n);
  return prior;
}

ComponentPosterior::ComponentPosterior(std::shared_ptr<const ComponentPrior> prior,
                                       const ComponentScale& scale)
    : prior_(std::move(prior)), scale_(scale) {
  Reset();
}

void ComponentPosterior::Reset() {
  const std::size_t n = prior_->n;
  const std::size_t d = scale_.dimension;
  const std::size_t size = n * d;
  k_.assign(size * size, 0.0);
  for (std::size_t u = 0; u < n; ++u) {
    for (std::size_t v = 0; v <= u; ++v) {
      const double covariance = scale_.prior_variance * prior_->p[u * n + v];
      for (std::size_t i = 0; i < d; ++i) k_[(u * d + i) * size + v * d + i] = covariance;
    }
  }
  mean_.assign(size, 0.0);
  events_ = 0;
  log_det_ratio_ = 0;
}

int ComponentPosterior::batch_events() const {
  // k events in a batch cost D^2 k / 2 at the speed of arithmetic plus about D k^2 / 2 + k^2 d / 2
  // + k^3 / 6, against D^2 / 2 at the speed of memory each: k = D / 8 keeps the extra part small.
  return std::clamp(rows() / 8, 1, kBatchEventsMax);
}

bool ComponentPosterior::Apply(std::span<const ComponentEvent> events, ComponentScratch& scratch) {
  const int k = static_cast<int>(events.size());
  const int d = scale_.dimension;
  const std::size_t size = rows();
  const double s2 = scale_.observation_variance;
  BANDANA_CHECK(k >= 1 && k <= kBatchEventsMax);

  scratch.products.resize(k * size);
  double* v = scratch.products.data();
  for (int e = 0; e < k; ++e)
    BlockProduct(k_.data(), rows(), events[e].position * d, events[e].features, d, v + e * size);

  scratch.gram.resize(static_cast<std::size_t>(k) * k);
  scratch.residual.resize(k);
  for (int e = 0; e < k; ++e) {
    const double* x = events[e].features;
    const std::size_t first = static_cast<std::size_t>(events[e].position) * d;
    double* row = scratch.gram.data() + e * k;
    for (int f = 0; f <= e; ++f) row[f] = Dot(x, v + f * size + first, d);
    row[e] += s2;
    scratch.residual[e] = events[e].reward - Dot(x, mean_.data() + first, d);
  }
  if (!Factor(scratch.gram.data(), k, s2)) return false;

  SolveLower(scratch.gram.data(), k, v, rows());
  SolveLower(scratch.gram.data(), k, scratch.residual.data(), 1);
  for (int e = 0; e < k; ++e) AddScaled(scratch.residual[e], v + e * size, size, mean_.data());
  AddOuter(-1, v, k, rows(), k_.data());
  for (int e = 0; e < k; ++e) {
    const double q = scratch.gram[e * k + e] * scratch.gram[e * k + e];
    log_det_ratio_ += std::log(std::max(1.0, q / s2));
  }
  events_ += k;
  return true;
}

bool ComponentPosterior::Update(int position, const EffectiveStatistics& old,
                                const EffectiveStatistics& next, ComponentScratch& scratch) {
  const int d = scale_.dimension;
  const std::size_t size = rows();
  const int first = position * d;
  std::vector<double>& y = scratch.products;  // Y'
  CopyColumns(first, y);
  std::vector<double> l(static_cast<std::size_t>(d) * d, 0.0);
  double trace = 0;
  for (int i = 0; i < d; ++i) {
    for (int j = 0; j <= i; ++j) l[i * d + j] = y[j * size + first + i];
    trace += l[i * d + i];
  }
  if (!Factor(l.data(), d, kPivotMin * trace)) return false;
  SolveLower(l.data(), d, y.data(), rows());

  std::vector<double> q = ChangeSeenThrough(l, old, next, d);
  if (!Factor(q.data(), d, kPivotMin)) return false;
  std::vector<double>& z = scratch.remainder;  // Z'
  z = y;
  SolveLower(q.data(), d, z.data(), rows());

  // Change of h_u - D m_u.
  std::vector<double> change(d);
  for (int i = 0; i < d; ++i) {
    change[i] = next.shift[i] - old.shift[i];
    for (int j = 0; j < d; ++j) {
      const int at = PackedIndex(std::max(i, j), std::min(i, j));
      change[i] -= (next.information[at] - old.information[at]) * mean_[first + j];
    }
  }
  std::vector<double> gain(d);
  for (int e = 0; e < d; ++e) gain[e] = Dot(z.data() + e * size + first, change.data(), d);
  for (int e = 0; e < d; ++e) AddScaled(gain[e], z.data() + e * size, size, mean_.data());
  AddOuter(-1, y.data(), d, rows(), k_.data());
  AddOuter(1, z.data(), d, rows(), k_.data());
  for (int e = 0; e < d; ++e) log_det_ratio_ += 2 * std::log(q[e * d + e]);
  log_det_ratio_ = std::max(0.0, log_det_ratio_);
  events_ += next.events - old.events;
  return true;
}

// Columns [first, first + d) of K, each as a row.
void ComponentPosterior::CopyColumns(int first, std::vector<double>& columns) const {
  const std::size_t size = rows();
  const std::size_t d = scale_.dimension;
  const std::size_t begin = first;
  columns.resize(d * size);
  for (std::size_t j = 0; j < d; ++j)
    std::copy_n(k_.data() + (begin + j) * size, begin + j + 1, columns.data() + j * size);
  for (std::size_t i = begin; i < size; ++i) {
    for (std::size_t j = 0; j < d && begin + j < i; ++j)
      columns[j * size + i] = k_[i * size + begin + j];
  }
}

// With P = C C' and C~ = C (x) I_d, the posterior has in the papers' coordinates the information
//   A = I + prior_variance C~' blkdiag(H_u) C~ = L L',
// and seen from the users
//   V = C~ L^-T,   K = prior_variance V V',   m = prior_variance V L^-1 C~' h.
// P is not inverted, so it may be singular. By V, K is positive semidefinite by construction, and
// small entries are not differences of large ones, as they are in K_0 - K_0 F (s2 I + F' K_0 F)^-1
// F' K_0. By the inverse of A they are, but only where that costs few digits: kInverseTraceMax.
void ComponentPosterior::Rebuild(std::span<const EffectiveStatistics> statistics) {
  BANDANA_CHECK(statistics.size() == static_cast<std::size_t>(prior_->n));
  std::uint64_t events = 0;
  for (const EffectiveStatistics& node : statistics) events += node.events;
  if (events == 0) return Reset();

  std::vector<double> a = std::move(k_);  // in the memory of K
  FillInformation(statistics, a);
  const std::size_t size = static_cast<std::size_t>(prior_->factor.rank) * scale_.dimension;
  double trace = 0;
  for (std::size_t i = 0; i < size; ++i) trace += a[i * size + i];
  bool exact = trace <= kInverseTraceMax && prior_->factor.triangular && rows() >= kInverseRowsMin;
  if (exact && !Factor(a.data(), static_cast<int>(size), 1)) {
    exact = false;
    FillInformation(statistics, a);
  }
  if (!exact) FactorWithFloor(a.data(), static_cast<int>(size), 1);
  events_ = events;
  log_det_ratio_ = 0;
  for (std::size_t i = 0; i < size; ++i)
    log_det_ratio_ += 2 * std::log(std::max(1.0, a[i * size + i]));

  std::vector<double> seen = SeenFromFactor(statistics);  // C~' h, then L^-1 C~' h
  SolveLower(a.data(), static_cast<int>(size), seen.data(), 1);
  k_ = exact ? ByInverse(std::move(a), std::move(seen)) : ByRows(std::move(a), seen);
}

std::vector<double> ComponentPosterior::ByRows(std::vector<double> l,
                                               const std::vector<double>& seen) {
  const int size = static_cast<int>(seen.size());
  const std::size_t d = scale_.dimension;
  const std::size_t last = rows();
  const std::size_t rank = prior_->factor.rank;
  std::vector<double> v(size * last, 0.0);  // C~', then V'
  for (std::size_t u = 0; u < static_cast<std::size_t>(prior_->n); ++u) {
    for (std::size_t a = 0; a < rank; ++a) {
      for (std::size_t i = 0; i < d; ++i)
        v[(a * d + i) * last + u * d + i] = prior_->factor.c[u * rank + a];
    }
  }
  SolveLower(l.data(), size, v.data(), rows());
  std::fill(mean_.begin(), mean_.end(), 0.0);
  for (int j = 0; j < size; ++j)
    AddScaled(scale_.prior_variance * seen[j], v.data() + j * last, last, mean_.data());
  l.assign(last * last, 0.0);
  AddOuter(scale_.prior_variance, v.data(), size, rows(), l.data());
  return l;
}

// K = C~ (prior_variance A^-1) C~': the products with C~ = C (x) I_d are n times cheaper than those
// with V, and in place, because C is a lower triangle.
std::vector<double> ComponentPosterior::ByInverse(std::vector<double> l, std::vector<double> seen) {
  const int n = prior_->n;
  const std::size_t d = scale_.dimension;
  const std::size_t size = rows();
  const std::vector<double>& c = prior_->factor.c;
  SolveUpper(l.data(), rows(), seen.data());  // A^-1 C~' h, n x d
  MultiplyLower(c.data(), n, n, seen.data(), scale_.dimension);
  for (std::size_t i = 0; i < size; ++i) mean_[i] = scale_.prior_variance * seen[i];

  InvertFactored(l.data(), rows());
  MirrorLower(l.data(), rows());
  MultiplyLower(c.data(), n, n, l.data(), rows() * scale_.dimension);  // C~ A^-1
  std::vector<double> scaled = c;
  for (double& value : scaled) value *= scale_.prior_variance;
  for (int u = 0; u < n; ++u) {
    for (std::size_t i = 0; i < d; ++i) {
      MultiplyLower(scaled.data(), n, u + 1, l.data() + (u * d + i) * size, scale_.dimension);
    }
  }
  return l;
}

// A, block by block: A_ab = [a = b] I + prior_variance sum_u C_ua C_ub H_u, symmetric as every H_u
// is. One product gives the blocks of a row, packed.
void ComponentPosterior::FillInformation(std::span<const EffectiveStatistics> statistics,
                                         std::vector<double>& a) const {
  const std::size_t d = scale_.dimension;
  const std::size_t rank = prior_->factor.rank;
  const std::size_t size = rank * d;
  const std::size_t entries = statistics[0].information.size();
  std::vector<const double*> c;  // rows of C of the nodes with events
  std::vector<double> packed;    // their H_u
  for (std::size_t u = 0; u < statistics.size(); ++u) {
    if (statistics[u].events == 0) continue;
    c.push_back(prior_->factor.c.data() + u * rank);
    packed.insert(packed.end(), statistics[u].information.begin(), statistics[u].information.end());
  }
  const std::size_t active = c.size();
  a.resize(size * size);
  std::vector<double> weights(rank * active);
  std::vector<double> blocks(rank * entries);
  for (std::size_t row = 0; row < rank; ++row) {
    for (std::size_t u = 0; u < active; ++u) {
      const double weight = scale_.prior_variance * c[u][row];
      for (std::size_t column = 0; column <= row; ++column)
        weights[column * active + u] = weight * c[u][column];
    }
    Multiply(weights.data(), packed.data(), static_cast<int>(row) + 1, static_cast<int>(active),
             static_cast<int>(entries), blocks.data());
    for (std::size_t i = 0; i < d; ++i) {
      double* to = a.data() + (row * d + i) * size;
      for (std::size_t column = 0; column <= row; ++column, to += d) {
        const double* block = blocks.data() + column * entries;
        std::copy_n(block + i * (i + 1) / 2, i + 1, to);
        for (std::size_t j = i + 1; j < d && column < row; ++j) to[j] = block[j * (j + 1) / 2 + i];
      }
      a[(row * d + i) * size + row * d + i] += 1;
    }
  }
}

// C~' h.
std::vector<double> ComponentPosterior::SeenFromFactor(
    std::span<const EffectiveStatistics> statistics) const {
  const std::size_t d = scale_.dimension;
  const std::size_t rank = prior_->factor.rank;
  std::vector<double> seen(rank * d, 0.0);
  for (std::size_t u = 0; u < statistics.size(); ++u) {
    for (std::size_t a = 0; a < rank; ++a)
      AddScaled(prior_->factor.c[u * rank + a], statistics[u].shift.data(), d, seen.data() + a * d);
  }
  return seen;
}

void ComponentPosterior::Load(const double* covariance, const double* mean,
                              const ComponentCount& seen) {
  const std::size_t size = rows();
  for (std::size_t i = 0; i < size; covariance += ++i)
    std::copy_n(covariance, i + 1, k_.data() + i * size);
  std::copy_n(mean, size, mean_.data());
  events_ = seen.events;
  log_det_ratio_ = seen.log_det_ratio;
}

void ComponentPosterior::Store(double* covariance, double* mean) const {
  const std::size_t size = rows();
  for (std::size_t i = 0; i < size; covariance += ++i)
    std::copy_n(k_.data() + i * size, i + 1, covariance);
  std::copy_n(mean_.data(), size, mean);
}

void ComponentPosterior::CopyNode(int position, NodePosterior& out) const {
  const std::size_t d = scale_.dimension;
  const std::size_t first = position * d;
  const std::size_t size = rows();
  out.mean.assign(mean_.begin() + static_cast<std::ptrdiff_t>(first),
                  mean_.begin() + static_cast<std::ptrdiff_t>(first + d));
  out.covariance.resize(d * d);
  for (std::size_t i = 0; i < d; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      out.covariance[i * d + j] = out.covariance[j * d + i] = k_[(first + i) * size + first + j];
    }
  }
}

}  // namespace bandana
