#include "common/bandits/shaped.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "common/bandits/statistics.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/linalg/symmetric.h"

namespace bandana {
namespace {

bool AllFinite(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
}

absl::Status Check(const CouplingComponent& component, const BanditModel::Options& options,
                   std::span<const NodeStatistics> statistics, const ShapedRelease& release) {
  const std::size_t n = component.nodes.size();
  const std::size_t d = options.dimension;
  if (options.dimension < 1 || options.dimension > kDimensionMax)
    return InvalidArgument("dimension must be in [1, ", kDimensionMax, "], got ", d);
  if (n * d > static_cast<std::size_t>(kComponentRowsMax)) {
    return InvalidArgument("a component of ", n, " nodes at dimension ", d,
                           " exceeds nodes x dimension <= ", kComponentRowsMax);
  }
  if (statistics.size() != n)
    return InvalidArgument("statistics must be of ", n, " nodes, got ", statistics.size());
  for (const NodeStatistics& node : statistics)
    BANDANA_RETURN_IF_ERROR(ValidateStatistics(node, options.dimension));
  if (release.root.size() != n * n || release.values.size() != n * d) {
    return InvalidArgument("a shaped release of ", n, " nodes at dimension ", d, " has ", n * n,
                           " entries of the root and ", n * d, " values, got ", release.root.size(),
                           " and ", release.values.size());
  }
  if (!AllFinite(release.root) || !AllFinite(release.values))
    return InvalidArgument("a shaped release must be finite");
  if (!(release.variance > 0) || !(release.variance <= kVarianceMax)) {
    return InvalidArgument("variance must be in (0, ", kVarianceMax, "], got ", release.variance);
  }
  return absl::OkStatus();
}

double Entry(const NodeStatistics& node, std::size_t i, std::size_t j) {
  return node.gram[PackedIndex(static_cast<int>(std::max(i, j)), static_cast<int>(std::min(i, j)))];
}

// R, lower triangle.
std::vector<double> NoiseMatrix(std::span<const NodeStatistics> statistics, std::size_t d,
                                double observation_variance, const ShapedRelease& release) {
  const std::size_t n = statistics.size();
  std::vector<double> r(n * d * n * d, 0.0);
  for (std::size_t u = 0; u < n; ++u) {
    for (std::size_t v = 0; v <= u; ++v) {
      for (std::size_t w = 0; w < n; ++w) {
        const double weight =
            observation_variance * release.root[u * n + w] * release.root[w * n + v];
        if (weight == 0) continue;
        for (std::size_t i = 0; i < d; ++i) {
          double* row = r.data() + (u * d + i) * n * d + v * d;
          for (std::size_t j = 0; j < d; ++j) row[j] += weight * Entry(statistics[w], i, j);
        }
      }
    }
  }
  for (std::size_t i = 0; i < n * d; ++i) r[i * n * d + i] += release.variance;
  return r;
}

// Q^1/2 S, n d x n d.
std::vector<double> Observation(std::span<const NodeStatistics> statistics, std::size_t d,
                                const ShapedRelease& release) {
  const std::size_t n = statistics.size();
  std::vector<double> rows(n * d * n * d);
  for (std::size_t v = 0; v < n; ++v) {
    for (std::size_t u = 0; u < n; ++u) {
      const double weight = release.root[u * n + v];
      for (std::size_t j = 0; j < d; ++j) {
        double* row = rows.data() + (v * d + j) * n * d + u * d;
        for (std::size_t i = 0; i < d; ++i) row[i] = weight * Entry(statistics[u], i, j);
      }
    }
  }
  return rows;
}

// W C~ for W of n d rows.
std::vector<double> Lift(const SemidefiniteFactor& factor, int n, int d,
                         const std::vector<double>& w) {
  const std::size_t size = static_cast<std::size_t>(factor.rank) * d;
  std::vector<double> transposed(factor.c.size());  // C'
  for (int u = 0; u < n; ++u) {
    for (int a = 0; a < factor.rank; ++a) {
      transposed[static_cast<std::size_t>(a) * n + u] =
          factor.c[static_cast<std::size_t>(u) * factor.rank + a];
    }
  }
  const std::size_t rows = static_cast<std::size_t>(n) * d;
  std::vector<double> lifted(rows * size);
  for (std::size_t i = 0; i < rows && size > 0; ++i) {
    Multiply(transposed.data(), w.data() + i * rows, factor.rank, n, d, lifted.data() + i * size);
  }
  return lifted;
}

}  // namespace

// With R = L L' and W = L^-1 Q^1/2 S, the information is H = W'W and h = W' L^-1 y. In the papers'
// coordinates, P = C C' and G = W C~: A = I + tau^2 G'G = M M', V = C~ M^-T, K = tau^2 V V' and m =
// tau^2 V M^-1 G' L^-1 y, as in ComponentPosterior::RebuildByRows.
absl::StatusOr<std::vector<NodePosterior>> ShapedPosterior(
    const CouplingComponent& component, const BanditModel::Options& options,
    std::span<const NodeStatistics> statistics, const ShapedRelease& release) {
  BANDANA_RETURN_IF_ERROR(Check(component, options, statistics, release));
  const int n = static_cast<int>(component.nodes.size());
  const int d = options.dimension;
  const int rows = n * d;
  std::vector<double> r = NoiseMatrix(statistics, d, options.observation_variance, release);
  FactorWithFloor(r.data(), rows, release.variance);
  std::vector<double> w = Observation(statistics, d, release);
  SolveLower(r.data(), rows, w.data(), rows);
  std::vector<double> y = release.values;
  SolveLower(r.data(), rows, y.data(), 1);

  const SemidefiniteFactor factor = FactorSemidefinite(component.prior, n);
  const std::size_t size = static_cast<std::size_t>(factor.rank) * d;
  const std::vector<double> g = Lift(factor, n, d, w);
  std::vector<double>& a = r;
  a.assign(size * size, 0.0);
  for (std::size_t i = 0; i < size; ++i) a[i * size + i] = 1;
  AddOuter(options.prior_variance, g.data(), rows, static_cast<int>(size), a.data());
  FactorWithFloor(a.data(), static_cast<int>(size), 1);

  std::vector<double> seen(size, 0.0);  // G' L^-1 y, then M^-1 of it
  for (int i = 0; i < rows; ++i) {
    for (std::size_t k = 0; k < size; ++k) seen[k] += g[i * size + k] * y[i];
  }
  SolveLower(a.data(), static_cast<int>(size), seen.data(), 1);
  const std::size_t columns = rows;
  std::vector<double>& v = w;  // C~', then V'
  v.assign(size * columns, 0.0);
  for (int u = 0; u < n; ++u) {
    for (int b = 0; b < factor.rank; ++b) {
      const double c = factor.c[static_cast<std::size_t>(u) * factor.rank + b];
      for (int i = 0; i < d; ++i)
        v[(static_cast<std::size_t>(b) * d + i) * columns + u * d + i] = c;
    }
  }
  SolveLower(a.data(), static_cast<int>(size), v.data(), rows);

  std::vector<NodePosterior> posteriors(n);
  for (int u = 0; u < n; ++u) {
    NodePosterior& posterior = posteriors[u];
    posterior.mean.assign(d, 0.0);
    posterior.covariance.assign(static_cast<std::size_t>(d) * d, 0.0);
    posterior.alpha = options.exploration.alpha;
    for (std::size_t k = 0; k < size; ++k) {
      const double* row = v.data() + k * columns + static_cast<std::size_t>(u) * d;
      for (int i = 0; i < d; ++i) {
        const double scaled = options.prior_variance * row[i];
        posterior.mean[i] += scaled * seen[k];
        for (int j = 0; j <= i; ++j)
          posterior.covariance[static_cast<std::size_t>(i) * d + j] += scaled * row[j];
      }
    }
    MirrorLower(posterior.covariance.data(), d);
  }
  return posteriors;
}

}  // namespace bandana
