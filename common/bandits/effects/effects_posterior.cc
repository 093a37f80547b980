#include "common/bandits/effects/effects_posterior.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <utility>

#include "common/base/check.h"
#include "common/base/status.h"
#include "common/ranking/scoring.h"

namespace bandana {
namespace {

bool IsOfArm(const EffectScope& scope) { return scope.arm != EffectScope::kNone; }

bool ArmsApart(const EffectsPosterior::Options& options) {
  std::vector<bool> has_weight(static_cast<std::size_t>(options.arm_parts));
  for (std::size_t t = 0; t < options.scopes.size(); ++t) {
    const EffectScope& scope = options.scopes[t];
    if (IsMoreThanShare(options.effects[t], scope)) return false;
    if (!IsOfArm(scope) || !options.weights) continue;
    if (has_weight[static_cast<std::size_t>(scope.arm)]) return false;
    has_weight[static_cast<std::size_t>(scope.arm)] = true;
  }
  return true;
}

}  // namespace

bool IsPair(const EffectScope& scope) { return IsOfArm(scope) && scope.user != EffectScope::kNone; }

bool IsMoreThanShare(const Effect& effect, const EffectScope& scope) {
  return IsOfArm(scope) && (effect.vector || scope.user != EffectScope::kNone);
}

absl::StatusOr<std::shared_ptr<EffectsPosterior>> EffectsPosterior::Create(Options options) {
  BANDANA_CHECK(options.effects.size() == options.scopes.size());
  BANDANA_CHECK(options.exploration.kind != ExplorationRule::Kind::kConfidence);
  BANDANA_ASSIGN_OR_RETURN(
      EffectsModel model,
      EffectsModel::Create(options.dimension, options.effects, options.reward_variance,
                           options.pairs_max,
                           {.scales = options.learn_scales, .weights = options.weights}));
  return std::shared_ptr<EffectsPosterior>(
      new EffectsPosterior(std::move(options), std::move(model)));
}

EffectsPosterior::EffectsPosterior(Options options, EffectsModel model)
    : options_(std::move(options)),
      arms_apart_(ArmsApart(options_)),
      model_(std::move(model)),
      pairs_(options_.scopes.size()) {}

void EffectsPosterior::UserKeys(std::span<const EffectKey> user, Keys& keys) const {
  keys.resize(options_.scopes.size());
  for (std::size_t t = 0; t < keys.size(); ++t) {
    const EffectScope& scope = options_.scopes[t];
    keys[t] = IsOfArm(scope) ? kAbsent : KeyOf(scope, user, {});
  }
}

void EffectsPosterior::ArmKeys(std::span<const EffectKey> user, std::span<const EffectKey> arm,
                               Keys& keys) const {
  keys.resize(options_.scopes.size());
  for (std::size_t t = 0; t < keys.size(); ++t) {
    const EffectScope& scope = options_.scopes[t];
    keys[t] = IsOfArm(scope) ? KeyOf(scope, user, arm) : kAbsent;
  }
}

double EffectsPosterior::Alpha() const {
  const ExplorationRule& rule = options_.exploration;
  if (rule.kind == ExplorationRule::Kind::kConstant) return rule.alpha;
  return rule.alpha * std::sqrt(std::log(static_cast<double>(events_) + 2));
}

// PROOF: effects begin
void EffectsPosterior::Learn(const EffectsEvent& event) {
  const std::span<const EffectKey> parts(event.parts);
  const auto users = static_cast<std::size_t>(options_.user_parts);
  BANDANA_CHECK(parts.size() == users + static_cast<std::size_t>(options_.arm_parts));
  thread_local Keys keys;
  keys.resize(options_.scopes.size());
  for (std::size_t t = 0; t < keys.size(); ++t) {
    keys[t] = KeyOf(options_.scopes[t], parts.first(users), parts.subspan(users));
  }
  model_.Learn(keys, event.features, event.reward, event.variance);
  for (std::size_t t = 0; t < keys.size(); ++t) {
    const EffectScope& scope = options_.scopes[t];
    const auto effect = static_cast<int>(t);
    if (!IsPair(scope) || pairs_[t].size() == model_.blocks(effect)) continue;
    if (!model_.Has(effect, keys[t])) continue;
    pairs_[t].Add({.user = parts[scope.user], .arm = parts[users + scope.arm]});
  }
  ++events_;
}

// Looked for without the lock, as nobody else writes.
void EffectsPosterior::Forget(const FreedKeys& freed) {
  const PairParts::Keys keys(freed.keys.begin(), freed.keys.end());
  PairParts::Keys known;
  for (std::size_t t = 0; t < pairs_.size(); ++t) {
    for (const PairParts::Pair& pair : pairs_[t].With(keys)) {
      const std::unique_lock lock(mutex_);
      model_.Erase(static_cast<int>(t), pair.key());
      pairs_[t].Remove(pair);
      for (const EffectKey part : {pair.user, pair.arm}) {
        if (keys.contains(part)) known.insert(part);
      }
    }
  }
  for (const EffectKey key : freed.keys) {
    const std::unique_lock lock(mutex_);
    for (std::size_t t = 0; t < options_.scopes.size(); ++t) {
      if (!IsPair(options_.scopes[t]) && model_.Erase(static_cast<int>(t), key)) known.insert(key);
    }
  }
  const std::unique_lock lock(mutex_);
  freed_ += known.size();
}

void EffectsPosterior::Show() {
  const auto arm_parts = static_cast<std::size_t>(options_.arm_parts);
  for (const auto& next : queue_) {
    if (const auto* freed = std::get_if<FreedKeys>(&next)) {
      Forget(*freed);
      for (const EffectKey key : freed->keys) {
        if (watch_) watch_(std::vector(arm_parts, key));
      }
      continue;
    }
    const auto& event = std::get<EffectsEvent>(next);
    std::unique_lock lock(mutex_);  // per event, so that readers wait for one alone
    Learn(event);
    lock.unlock();
    if (watch_) watch_(std::span(event.parts).last(arm_parts));
  }
  queue_.clear();
}
// PROOF: effects end

void EffectsPosterior::Encode(ByteWriter& out) const {
  BANDANA_CHECK(queue_.empty());
  out.U64(events_);
  model_.Encode(out);
  for (std::size_t t = 0; t < pairs_.size(); ++t) {
    if (IsPair(options_.scopes[t])) pairs_[t].Encode(out);
  }
}

absl::Status EffectsPosterior::Decode(ByteReader& in) {
  const std::unique_lock lock(mutex_);
  events_ = in.U64();
  BANDANA_RETURN_IF_ERROR(model_.Decode(in));
  // A former version kept no parts: a pair's are kept from its next event on.
  if (in.remaining() == 0) return absl::OkStatus();
  for (std::size_t t = 0; t < pairs_.size(); ++t) {
    if (!IsPair(options_.scopes[t])) continue;
    const auto effect = static_cast<int>(t);
    const auto has_block = [&](const PairParts::Pair& pair) {
      return model_.Has(effect, pair.key());
    };
    BANDANA_RETURN_IF_ERROR(pairs_[t].Decode(in));
    if (pairs_[t].AllOf(has_block)) continue;
    return DataLoss("the pairs of effect ", options_.effects[t].name,
                    " are not those of its blocks");
  }
  return absl::OkStatus();
}

void EffectsPosterior::SumLocked(std::span<const EffectKey> user, NodePosterior& out) const {
  const auto d = static_cast<std::size_t>(options_.dimension);
  thread_local Keys keys;
  UserKeys(user, keys);
  out.mean.resize(d);
  out.covariance.resize(d * d);
  model_.SumVectors(keys, out.mean, out.covariance);
  out.alpha = Alpha();
}

std::optional<ScoreLaw> EffectsPosterior::Law(std::span<const EffectKey> user,
                                              NodePosterior& scratch) const {
  if (!arms_apart_) return std::nullopt;
  thread_local Keys keys;
  const std::shared_lock lock(mutex_);
  SumLocked(user, scratch);
  UserKeys(user, keys);
  const EffectsModel::Belief common = model_.SumConstants(keys);
  return ScoreLaw{.posterior = &scratch,
                  .mean = common.mean,
                  .variance = std::max(0.0, common.variance),
                  .part_weights = PartWeights()};
}

std::vector<float> EffectsPosterior::PartWeights() const {
  if (!options_.weights) return {};
  std::vector<float> weights(static_cast<std::size_t>(options_.arm_parts), 1.0f);
  for (std::size_t t = 0; t < options_.scopes.size(); ++t) {
    const EffectScope& scope = options_.scopes[t];
    if (IsOfArm(scope)) weights[static_cast<std::size_t>(scope.arm)] = model_.weight(t);
  }
  return weights;
}

EffectsModel::Belief EffectsPosterior::PartBelief(int position, EffectKey key) const {
  EffectsModel::Belief belief;
  if (key == kAbsent) return belief;
  const std::shared_lock lock(mutex_);
  for (std::size_t t = 0; t < options_.scopes.size(); ++t) {
    if (options_.scopes[t].arm != position) continue;
    const EffectsModel::Belief one = model_.Unweighted(static_cast<int>(t), key);
    belief.mean += one.mean;
    belief.variance += one.variance;
  }
  return belief;
}

EffectsModel::Belief EffectsPosterior::ArmBelief(std::span<const EffectKey> arm) const {
  thread_local Keys keys;
  ArmKeys({}, arm, keys);
  const std::shared_lock lock(mutex_);
  return model_.SumConstants(keys);
}

void EffectsPosterior::Sum(std::span<const EffectKey> user, NodePosterior& out) const {
  const std::shared_lock lock(mutex_);
  SumLocked(user, out);
}

void EffectsPosterior::Score(std::span<const EffectKey> user, const ArmsOnOffer& arms,
                             NodePosterior& scratch, ArmScores& out) const {
  const std::size_t n = arms.features.size();
  const auto parts = static_cast<std::size_t>(options_.arm_parts);
  BANDANA_CHECK(arms.keys.size() == n * parts);
  thread_local std::vector<EffectsModel::Belief> own;  // of the user, then of each arm
  thread_local Keys keys;
  own.assign(n + 1, {});
  {
    const std::shared_lock lock(mutex_);
    SumLocked(user, scratch);
    UserKeys(user, keys);
    own[0] = model_.SumConstants(keys);
    for (std::size_t a = 0; a < n; ++a) {
      ArmKeys(user, arms.keys.subspan(a * parts, parts), keys);
      model_.AddBelief(keys, {arms.features[a], static_cast<std::size_t>(options_.dimension)},
                       own[a + 1]);
    }
  }
  ScoreArms(scratch, arms.features, out);
  for (std::size_t a = 0; a < n; ++a) {
    AddToArm(a, own[0].mean + own[a + 1].mean, own[0].variance + own[a + 1].variance, scratch.alpha,
             out);
  }
}

bool EffectsPosterior::KnowsAlone(EffectKey key) const {
  for (std::size_t t = 0; t < options_.scopes.size(); ++t) {
    if (!IsPair(options_.scopes[t]) && model_.Has(static_cast<int>(t), key)) return true;
  }
  return false;
}

PairParts::Keys EffectsPosterior::Known(std::span<const EffectKey> keys) const {
  const PairParts::Keys asked(keys.begin(), keys.end());
  PairParts::Keys known;
  const std::shared_lock lock(mutex_);
  for (const PairParts& pairs : pairs_) {
    for (const PairParts::Pair& pair : pairs.With(asked)) {
      for (const EffectKey part : {pair.user, pair.arm}) {
        if (asked.contains(part)) known.insert(part);
      }
    }
  }
  for (const EffectKey key : asked) {
    if (KnowsAlone(key)) known.insert(key);
  }
  return known;
}

std::vector<EffectsPosterior::UserBlock> EffectsPosterior::OfUser(EffectKey user) const {
  std::vector<UserBlock> blocks;
  const std::shared_lock lock(mutex_);
  const auto add = [&](std::size_t t, EffectKey key) {
    if (!model_.Has(static_cast<int>(t), key)) return;
    Keys keys(options_.effects.size(), kAbsent);
    keys[t] = key;
    UserBlock& block = blocks.emplace_back(UserBlock{.name = options_.effects[t].name});
    if (!options_.effects[t].vector) {
      const EffectsModel::Belief belief = model_.SumConstants(keys);
      block.mean = {belief.mean};
      block.covariance = {belief.variance};
      return;
    }
    const auto d = static_cast<std::size_t>(options_.dimension);
    block.mean.resize(d);
    block.covariance.resize(d * d);
    model_.SumVectors(keys, block.mean, block.covariance);
  };
  const PairParts::Keys asked = {user};
  for (std::size_t t = 0; t < options_.scopes.size(); ++t) {
    if (options_.scopes[t].user != 0) continue;
    if (!IsPair(options_.scopes[t])) add(t, user);
    for (const PairParts::Pair& pair : pairs_[t].With(asked)) add(t, pair.key());
  }
  return blocks;
}

std::size_t EffectsPosterior::bytes() const { return figures().bytes; }

EffectsPosterior::Figures EffectsPosterior::figures() const {
  const std::shared_lock lock(mutex_);
  Figures figures{.bytes = model_.bytes(), .pairs = model_.bounded_blocks(), .freed = freed_};
  for (std::size_t t = 0; t < pairs_.size(); ++t) {
    figures.bytes += pairs_[t].bytes();
    figures.blocks.push_back(model_.blocks(static_cast<int>(t)));
    figures.prior_variances.push_back(model_.prior_variance(static_cast<int>(t)));
    figures.weights.push_back(model_.weight(t));
  }
  return figures;
}

std::uint64_t EffectsPosterior::pairs() const {
  const std::shared_lock lock(mutex_);
  return model_.bounded_blocks();
}

std::uint64_t EffectsPosterior::events() const {
  const std::shared_lock lock(mutex_);
  return events_;
}

}  // namespace bandana
