#include "server/service/explanation.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>

#include "common/features/schema.h"

namespace bandana::server {
namespace {

struct ContextPart {
  std::string name;
  int begin = 0;
  int size = 0;
};

std::vector<ContextPart> PartsOfContext(const PublicSpec& rules) {
  if (rules.features == nullptr) return {{"features", 0, rules.dimension}};
  std::vector<ContextPart> parts;
  for (const FeatureBlock& block : rules.features->blocks()) {
    parts.push_back({block.name, block.begin, block.size});
  }
  return parts;
}

void Add(const std::string& name, const EffectShare& share, v1::ArmExplanation& out) {
  if (share.mean == 0 && share.width == 0) return;
  v1::ScorePart& part = *out.add_parts();
  part.set_name(name);
  part.set_mean(share.mean);
  part.set_width(share.width);
}

EffectShare ShareOf(const ContextPart& part, const NodePosterior& node, std::span<const double> x) {
  EffectShare share;
  double variance = 0;
  for (int i = part.begin; i < part.begin + part.size; ++i) {
    const auto row = static_cast<std::size_t>(i);
    if (x[row] == 0) continue;
    share.mean += x[row] * node.mean[row];
    if (node.covariance.empty()) continue;
    double product = 0;
    for (int j = part.begin; j < part.begin + part.size; ++j) {
      const auto column = static_cast<std::size_t>(j);
      product += node.covariance[row * x.size() + column] * x[column];
    }
    variance += x[row] * product;
  }
  share.width = std::sqrt(std::max(0.0, variance));
  return share;
}

// Effects are summed in single precision, and parts in another order than the whole.
void TakeRounding(double mean, v1::ArmExplanation& out) {
  v1::ScorePart* largest = nullptr;
  for (v1::ScorePart& part : *out.mutable_parts()) {
    mean -= part.mean();
    if (largest == nullptr || std::abs(part.mean()) > std::abs(largest->mean())) largest = &part;
  }
  if (largest != nullptr) largest->set_mean(largest->mean() + mean);
}

void ByEffect(const Explained& explained, const std::vector<std::string>& names,
              v1::SelectResponse& response) {
  const ArmBlock& arms = explained.arms;
  const std::size_t parts = arms.keys.size() / arms.arms.size();
  std::vector<const double*> features;
  std::vector<EffectKey> keys;
  for (const int position : explained.ranking) {
    const auto at = static_cast<std::size_t>(position);
    features.push_back(arms.arms[at]);
    const auto own = std::span(arms.keys).subspan(at * parts, parts);
    keys.insert(keys.end(), own.begin(), own.end());
  }
  std::vector<EffectShare> shares;
  explained.posterior.Explain(explained.whom, {.features = features, .keys = keys}, shares);
  for (std::size_t rank = 0; rank < explained.ranking.size(); ++rank) {
    v1::ArmExplanation& out = *response.add_explanations();
    for (std::size_t e = 0; e < names.size(); ++e) {
      Add(names[e], shares[rank * names.size() + e], out);
    }
    TakeRounding(explained.means[static_cast<std::size_t>(explained.ranking[rank])], out);
  }
}

}  // namespace

void FillExplanations(const Explained& explained, NodePosterior& scratch,
                      v1::SelectResponse& response) {
  const std::vector<std::string> effects = explained.posterior.effect_names();
  if (!effects.empty()) return ByEffect(explained, effects, response);
  const NodePosterior& node = explained.posterior.Of(explained.whom, scratch);
  const std::vector<ContextPart> parts = PartsOfContext(explained.rules);
  const auto d = static_cast<std::size_t>(explained.rules.dimension);
  for (const int position : explained.ranking) {
    v1::ArmExplanation& out = *response.add_explanations();
    const std::span<const double> x(explained.arms.arms[static_cast<std::size_t>(position)], d);
    for (const ContextPart& part : parts) Add(part.name, ShareOf(part, node, x), out);
    TakeRounding(explained.means[static_cast<std::size_t>(position)], out);
  }
}

}  // namespace bandana::server
