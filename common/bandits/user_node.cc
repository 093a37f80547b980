#include "common/bandits/user_node.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "common/bandits/effective.h"
#include "common/bandits/fading.h"
#include "common/bandits/statistics.h"
#include "common/bandits/vectors.h"
#include "common/base/check.h"
#include "common/linalg/quadratic_forms.h"

namespace bandana {
namespace {

// Sum of |x|^2 over the ridge, up to which a user is held as events: K is a difference of tau^2 and
// what the events have seen, of which so many parts in 2^52 are lost, as they are in updates of a
// dense K. Beyond it a rebuild knows more.
constexpr double kFewRatioMax = 1e6;
// How well events must give sums back, relative to the largest.
constexpr double kSameSums = 1e-12;

std::size_t PackedSize(std::size_t n) { return n * (n + 1) / 2; }

// Four sums, because one would wait for each addition in turn.
double FourSumDot(const double* a, const double* b, std::size_t n) {
  double sums[4] = {0, 0, 0, 0};
  std::size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    for (std::size_t k = 0; k < 4; ++k) sums[k] += a[i + k] * b[i + k];
  }
  for (; i < n; ++i) sums[0] += a[i] * b[i];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

double Ridge(const ComponentScale& scale) {
  return scale.observation_variance / scale.prior_variance;
}

std::shared_ptr<const ComponentPrior> OneNode() { return MakeComponentPrior({{0}, {1.0}}); }

bool AllZero(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double v) { return v == 0; });
}

// Events that have the sums S = X'X and beta = X'r up to rounding, fewer than `rows_max` + 1: the
// rows of a Cholesky factor with diagonal pivoting.
struct Rows {
  std::vector<double> x;  // k x d
  std::vector<double> r;
};
std::size_t Largest(const std::vector<double>& values) {
  return static_cast<std::size_t>(std::max_element(values.begin(), values.end()) - values.begin());
}

double GramEntry(const NodeStatistics& sums, std::size_t i, std::size_t j) {
  return sums.gram[PackedIndex(static_cast<int>(std::max(i, j)), static_cast<int>(std::min(i, j)))];
}

bool FillRows(const NodeStatistics& sums, std::size_t rows_max, Rows& rows) {
  const std::size_t d = sums.moment.size();
  std::vector<double> left(d);  // of the diagonal
  for (std::size_t i = 0; i < d; ++i) left[i] = GramEntry(sums, i, i);
  const double largest = left[Largest(left)];
  const double least = static_cast<double>(d) * std::numeric_limits<double>::epsilon() * largest;
  std::vector<bool> taken(d, false);
  for (std::size_t k = 0;; ++k) {
    const std::size_t p = Largest(left);
    if (!(left[p] > least)) break;
    if (k == rows_max) return false;
    rows.x.resize((k + 1) * d, 0.0);
    double* const row = rows.x.data() + k * d;
    const double root = std::sqrt(left[p]);
    double moment = sums.moment[p];
    for (std::size_t b = 0; b < k; ++b) moment -= rows.x[b * d + p] * rows.r[b];
    rows.r.push_back(moment / root);
    taken[p] = true;
    row[p] = root;
    left[p] = 0;
    for (std::size_t i = 0; i < d; ++i) {
      if (taken[i]) continue;
      double entry = GramEntry(sums, i, p);
      for (std::size_t b = 0; b < k; ++b) entry -= rows.x[b * d + i] * rows.x[b * d + p];
      row[i] = entry / root;
      left[i] = std::max(0.0, left[i] - row[i] * row[i]);
    }
  }
  return true;
}

bool HaveSums(const Rows& rows, const NodeStatistics& sums) {
  const std::size_t d = sums.moment.size();
  const std::size_t k = rows.r.size();
  double largest_gram = 0;
  double largest_moment = 0;
  double gram = 0;  // largest differences
  double moment = 0;
  for (std::size_t i = 0; i < d; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = 0;
      for (std::size_t e = 0; e < k; ++e) sum += rows.x[e * d + i] * rows.x[e * d + j];
      largest_gram = std::max(largest_gram, std::abs(GramEntry(sums, i, j)));
      gram = std::max(gram, std::abs(sum - GramEntry(sums, i, j)));
    }
    double sum = 0;
    for (std::size_t e = 0; e < k; ++e) sum += rows.x[e * d + i] * rows.r[e];
    largest_moment = std::max(largest_moment, std::abs(sums.moment[i]));
    moment = std::max(moment, std::abs(sum - sums.moment[i]));
  }
  return gram <= kSameSums * largest_gram && moment <= kSameSums * largest_moment;
}

}  // namespace

UserNode::Parts UserNode::PartsOf(int dimension) const {
  const auto d = static_cast<std::size_t>(dimension);
  const std::size_t k = rows_;
  Parts parts;
  const auto take = [&](std::size_t size) {
    double* const at = data_ == nullptr ? nullptr : data_.get() + parts.size;
    parts.size += size;
    return at;
  };
  if (sums_) {
    parts.gram = take(PackedSize(d));
    parts.moment = take(d);
  }
  if (few_) {
    parts.rows = take(k * d);
    parts.rewards = take(k);
    parts.inverse = take(PackedSize(k));
    parts.weights = take(k);
  } else {
    parts.covariance = take(PackedSize(d));
    parts.mean = take(d);
  }
  return parts;
}

FewEvents UserNode::Few(const ComponentScale& scale, const Parts& parts) const {
  return {.count = rows_,
          .scale = scale.prior_variance,
          .rows = parts.rows,
          .inverse = parts.inverse,
          .weights = parts.weights};
}

void UserNode::Score(const ComponentScale& scale, std::span<const double* const> arms,
                     ArmScores& out) const {
  const Parts parts = PartsOf(scale.dimension);
  const int n = static_cast<int>(arms.size());
  out.means.resize(arms.size());
  out.widths.resize(arms.size());
  if (few_) {
    QuadraticForms().compute_few(Few(scale, parts), scale.dimension, arms.data(), n,
                                 out.means.data(), out.widths.data());
  } else {
    QuadraticForms().compute_packed(parts.covariance, parts.mean, scale.dimension, arms.data(), n,
                                    out.means.data(), out.widths.data());
  }
  FinishScores(alpha_, out);
}

void UserNode::Expand(const ComponentScale& scale, NodePosterior& out) const {
  const Parts parts = PartsOf(scale.dimension);
  const auto d = static_cast<std::size_t>(scale.dimension);
  out.alpha = alpha_;
  out.mean.assign(d, 0.0);
  out.covariance.assign(d * d, 0.0);
  if (!few_) {
    std::copy_n(parts.mean, d, out.mean.data());
    const double* packed = parts.covariance;
    for (std::size_t i = 0; i < d; ++i) {
      for (std::size_t j = 0; j <= i; ++j)
        out.covariance[i * d + j] = out.covariance[j * d + i] = *packed++;
    }
    return;
  }
  std::vector<double> v(rows_ * d, 0.0);  // L^-1 X
  const double* inverse = parts.inverse;
  for (std::size_t e = 0; e < rows_; ++e) {
    for (std::size_t i = 0; i < d; ++i) out.mean[i] += parts.weights[e] * parts.rows[e * d + i];
    for (std::size_t f = 0; f <= e; ++f, ++inverse) {
      for (std::size_t i = 0; i < d; ++i) v[e * d + i] += *inverse * parts.rows[f * d + i];
    }
  }
  for (std::size_t i = 0; i < d; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double left = i == j ? 1 : 0;
      for (std::size_t e = 0; e < rows_; ++e) left -= v[e * d + i] * v[e * d + j];
      out.covariance[i * d + j] = out.covariance[j * d + i] = scale.prior_variance * left;
    }
  }
}

void UserNode::Expand(const ComponentScale& scale, NodeStatistics& out) const {
  const Parts parts = PartsOf(scale.dimension);
  const auto d = static_cast<std::size_t>(scale.dimension);
  out.events = events_;
  out.moment_variance = moment_variance_;
  out.steps = steps_;
  out.noise_faded = 0;
  if (sums_) {
    out.gram.assign(parts.gram, parts.gram + PackedSize(d));
    out.moment.assign(parts.moment, parts.moment + d);
    return;
  }
  out.gram.assign(PackedSize(d), 0.0);
  out.moment.assign(d, 0.0);
  out.events = 0;
  for (std::size_t e = 0; e < rows_; ++e)
    AddEvent({.features = {parts.rows + e * d, d}, .reward = parts.rewards[e]}, out);
}

std::size_t UserNode::bytes(const ComponentScale& scale) const {
  constexpr std::size_t kShared = 16;  // counts of a shared_ptr
  const auto allocated = [](std::size_t bytes) { return (bytes + 8 + 15) / 16 * 16; };
  return allocated(kShared + sizeof(UserNode)) +
         allocated(PartsOf(scale.dimension).size * sizeof(double));
}

UserFitter::UserFitter(const ComponentScale& scale, const ExplorationRule& exploration)
    : scale_(scale),
      exploration_(exploration),
      few_max_(static_cast<std::size_t>(scale.dimension) / 2) {}

ComponentPosterior& UserFitter::fit() {
  if (!fit_) fit_.emplace(OneNode(), scale_);
  return *fit_;
}

std::shared_ptr<UserNode> UserFitter::Make(std::size_t rows, bool few, bool sums) const {
  auto node = std::make_shared<UserNode>();
  node->rows_ = static_cast<std::uint16_t>(rows);
  node->few_ = few;
  node->sums_ = sums;
  node->data_ = std::make_unique_for_overwrite<double[]>(node->PartsOf(scale_.dimension).size);
  return node;
}

UserFitter::Node UserFitter::Prior() const {
  auto node = Make(0, /*few=*/true, /*sums=*/false);
  node->alpha_ = AlphaOf(exploration_, scale_.prior_variance, {});
  return node;
}

UserFitter::Node UserFitter::Added(const UserNode* old, std::span<const ComponentEvent> events,
                                   std::uint64_t steps) {
  BANDANA_CHECK(old == nullptr || old->moment_variance_ == 0);
  const Node faded = old == nullptr ? nullptr : FadedTo(steps, *old);
  if (faded != nullptr) old = faded.get();
  std::shared_ptr<UserNode> added = AddedToFew(old, events);
  if (added == nullptr) added = AddedToMany(old, events);
  added->steps_ = steps;
  return added;
}

// Events of less weight are those of a smaller feature and reward: both times the root of it.
UserFitter::Node UserFitter::FadedTo(std::uint64_t steps, const UserNode& user) {
  if (steps == user.steps_ || user.events_ == 0) return nullptr;
  user.Expand(scale_, sums_);
  bandana::FadeTo(steps, sums_);
  if (!user.few_) return FittedBySums(sums_);
  auto node = Make(user.rows_, /*few=*/true, /*sums=*/true);
  node->events_ = user.events_;
  node->steps_ = steps;
  const UserNode::Parts from = user.PartsOf(scale_.dimension);
  const UserNode::Parts to = node->PartsOf(scale_.dimension);
  std::copy(sums_.gram.begin(), sums_.gram.end(), to.gram);
  std::copy(sums_.moment.begin(), sums_.moment.end(), to.moment);
  const double root = std::sqrt(FadingWeight(steps - user.steps_));
  const std::size_t entries = user.rows_ * static_cast<std::size_t>(scale_.dimension);
  for (std::size_t i = 0; i < entries; ++i) to.rows[i] = root * from.rows[i];
  for (std::size_t e = 0; e < user.rows_; ++e) to.rewards[e] = root * from.rewards[e];
  return Factor(*node, 0) ? node : FittedBySums(sums_);
}

std::shared_ptr<UserNode> UserFitter::AddedToFew(const UserNode* old,
                                                 std::span<const ComponentEvent> events) {
  const std::size_t before = old == nullptr ? 0 : old->rows_;
  const std::size_t k = before + events.size();
  if ((old != nullptr && !old->few_) || k > few_max_) return nullptr;
  const auto d = static_cast<std::size_t>(scale_.dimension);
  auto node = Make(k, /*few=*/true, old != nullptr && old->sums_);
  node->events_ = (old == nullptr ? 0 : old->events_) + events.size();
  const UserNode::Parts to = node->PartsOf(scale_.dimension);
  if (old != nullptr) {
    const UserNode::Parts from = old->PartsOf(scale_.dimension);
    std::copy_n(from.rows, before * d, to.rows);
    std::copy_n(from.rewards, before, to.rewards);
    std::copy_n(from.inverse, PackedSize(before), to.inverse);
    node->log_det_ratio_ = old->log_det_ratio_;
  }
  for (std::size_t e = 0; e < events.size(); ++e) {
    std::copy_n(events[e].features, d, to.rows + (before + e) * d);
    to.rewards[before + e] = events[e].reward;
  }
  if (!Factor(*node, before)) return nullptr;
  if (node->sums_) {
    old->Expand(scale_, sums_);
    for (const ComponentEvent& event : events)
      AddEvent({.features = {event.features, d}, .reward = event.reward}, sums_);
    std::copy(sums_.gram.begin(), sums_.gram.end(), to.gram);
    std::copy(sums_.moment.begin(), sums_.moment.end(), to.moment);
  }
  return node;
}

bool UserFitter::Factor(UserNode& node, std::size_t first) const {
  const UserNode::Parts parts = node.PartsOf(scale_.dimension);
  const auto d = static_cast<std::size_t>(scale_.dimension);
  const std::size_t k = node.rows_;
  const double ridge = Ridge(scale_);
  double trace = 0;
  for (std::size_t e = 0; e < k; ++e)
    trace += FourSumDot(parts.rows + e * d, parts.rows + e * d, d);
  if (!(trace <= kFewRatioMax * ridge)) return false;
  std::vector<double> l(k);  // a row of L
  for (std::size_t e = first; e < k; ++e) {
    const double* x = parts.rows + e * d;
    double pivot = ridge + FourSumDot(x, x, d);
    for (std::size_t f = 0; f < e; ++f) parts.weights[f] = FourSumDot(x, parts.rows + f * d, d);
    for (std::size_t f = 0; f < e; ++f) {
      l[f] = FourSumDot(parts.inverse + PackedSize(f), parts.weights, f + 1);
      pivot -= l[f] * l[f];
    }
    if (!(pivot >= 0.5 * ridge)) return false;
    double* const row = parts.inverse + PackedSize(e);
    row[e] = 1 / std::sqrt(pivot);
    std::fill_n(row, e, 0.0);
    for (std::size_t f = 0; f < e; ++f)
      AddScaled(-l[f] * row[e], parts.inverse + PackedSize(f), f + 1, row);
    node.log_det_ratio_ += std::log(std::max(1.0, pivot / ridge));
  }
  std::fill_n(parts.weights, k, 0.0);
  for (std::size_t e = 0; e < k; ++e) {
    const double* row = parts.inverse + PackedSize(e);
    AddScaled(FourSumDot(row, parts.rewards, e + 1), row, e + 1, parts.weights);
  }
  node.alpha_ = AlphaOf(exploration_, scale_.prior_variance, {node.events_, node.log_det_ratio_});
  return true;
}

std::shared_ptr<UserNode> UserFitter::AddedToMany(const UserNode* old,
                                                  std::span<const ComponentEvent> events) {
  const auto d = static_cast<std::size_t>(scale_.dimension);
  bool exact = true;
  if (old != nullptr) {
    old->Expand(scale_, sums_);
  } else {
    sums_ = EmptyStatistics(scale_.dimension);
  }
  if (old != nullptr && !old->few_) {
    const UserNode::Parts from = old->PartsOf(scale_.dimension);
    fit().Load(from.covariance, from.mean, {old->events_, old->log_det_ratio_});
  } else {
    fit().Reset();
    if (old != nullptr) {
      const UserNode::Parts from = old->PartsOf(scale_.dimension);
      std::vector<ComponentEvent> before;
      for (std::size_t e = 0; e < old->rows_; ++e)
        before.push_back({0, from.rows + e * d, from.rewards[e]});
      exact = ApplyInBatches(before);
    }
  }
  for (const ComponentEvent& event : events)
    AddEvent({.features = {event.features, d}, .reward = event.reward}, sums_);
  if (!exact || !ApplyInBatches(events)) {
    const EffectiveStatistics effective = Effective(sums_, scale_.observation_variance);
    fit().Rebuild({&effective, 1});
  }
  auto node = Make(0, /*few=*/false, /*sums=*/true);
  Finish(*node);
  return node;
}

bool UserFitter::ApplyInBatches(std::span<const ComponentEvent> events) {
  const std::size_t batch = fit().batch_events();
  for (std::size_t i = 0; i < events.size(); i += batch) {
    if (!fit().Apply(events.subspan(i, std::min(batch, events.size() - i)), scratch_)) return false;
  }
  return true;
}

void UserFitter::Finish(UserNode& node) const {
  const UserNode::Parts parts = node.PartsOf(scale_.dimension);
  std::copy(sums_.gram.begin(), sums_.gram.end(), parts.gram);
  std::copy(sums_.moment.begin(), sums_.moment.end(), parts.moment);
  node.events_ = sums_.events;
  node.moment_variance_ = sums_.moment_variance;
  node.steps_ = sums_.steps;
  node.log_det_ratio_ = fit_->log_det_ratio();
  fit_->Store(parts.covariance, parts.mean);
  node.alpha_ = AlphaOf(exploration_, scale_.prior_variance, {node.events_, node.log_det_ratio_});
}

UserFitter::Node UserFitter::Fitted(const NodeStatistics& statistics) {
  if (statistics.events == 0 && statistics.moment_variance == 0 && AllZero(statistics.gram) &&
      AllZero(statistics.moment)) {
    return nullptr;
  }
  if (Node few = FittedByRows(statistics)) return few;
  return FittedBySums(statistics);
}

UserFitter::Node UserFitter::FittedBySums(const NodeStatistics& statistics) {
  sums_ = statistics;
  const EffectiveStatistics effective = Effective(sums_, scale_.observation_variance);
  fit().Rebuild({&effective, 1});
  auto node = Make(0, /*few=*/false, /*sums=*/true);
  Finish(*node);
  return node;
}

UserFitter::Node UserFitter::FittedByRows(const NodeStatistics& statistics) {
  if (statistics.moment_variance != 0 || statistics.events == 0 || statistics.events > few_max_)
    return nullptr;
  Rows rows;
  if (!FillRows(statistics, few_max_, rows) || !HaveSums(rows, statistics)) return nullptr;
  auto node = Make(rows.r.size(), /*few=*/true, /*sums=*/true);
  node->events_ = statistics.events;
  node->steps_ = statistics.steps;
  const UserNode::Parts parts = node->PartsOf(scale_.dimension);
  std::copy(statistics.gram.begin(), statistics.gram.end(), parts.gram);
  std::copy(statistics.moment.begin(), statistics.moment.end(), parts.moment);
  std::copy(rows.x.begin(), rows.x.end(), parts.rows);
  std::copy(rows.r.begin(), rows.r.end(), parts.rewards);
  if (!Factor(*node, 0)) return nullptr;
  return node;
}

}  // namespace bandana
