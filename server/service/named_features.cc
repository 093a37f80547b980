#include "server/service/named_features.h"

#include <algorithm>
#include <cstddef>
#include <span>

#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/design/wire_messages.h"
#include "common/promise/mode.h"

namespace bandana::server {
namespace {

constexpr ValuePath kContext{.list = "context"};

absl::Status CheckId(int arm, std::string_view id, bool is_new) {
  if (id.empty() || id.size() > kArmNameBytesMax) {
    return InvalidArgument("arms[", arm, "].id: must have 1 to ", kArmNameBytesMax, " bytes, got ",
                           id.size());
  }
  if (is_new) return absl::OkStatus();
  return InvalidArgument("arms[", arm, "].id: is there twice: ", ShowText(id));
}

// An arm that the catalogue has by this name is that arm; another has a key of its own and is in no
// group.
void SetKeys(std::string_view id, const Catalogue& catalogue, std::span<EffectKey> keys) {
  if (keys.empty()) return;
  if (const auto known = catalogue.FindName(id)) {
    std::ranges::copy(known->keys, keys.begin());
  } else {
    keys[0] = NamedArmKey(id);
  }
}

}  // namespace

absl::Status NamedFeatures::Begin(const PublicSpec& rules, const v1::SelectRequest& request) {
  schema_ = rules.features.get();
  context_.entries.clear();
  if (schema_ == nullptr) {
    log_.Begin(ValueRule::kHidden, 0);
    if (request.has_context()) {
      return InvalidArgument("context: the model has no schema of named features: send vectors");
    }
    if (request.arms().has_named_arms()) {
      return InvalidArgument("arms.named_arms: the model has no schema of named features: send ",
                             "inline_arms");
    }
    return absl::OkStatus();
  }
  log_.Begin(ModeOf(rules.mode).values, schema_->fields().size());
  if (request.arms().has_inline_arms()) {
    if (!request.has_context()) return absl::OkStatus();
    return InvalidArgument("context: is for named arms and arms of the catalogue; the vectors of ",
                           "inline_arms have a context in them");
  }
  return EncodeContext(*schema_, FromProto(request.context()), kContext, log_, context_);
}

absl::Status NamedFeatures::Load(const v1::ArmSet& arms, const FeatureBounds& bounds, int arms_max,
                                 const OfferRules& offer, const Catalogue& catalogue,
                                 ArmBlock& block) {
  if (arms.has_named_arms()) return LoadNamed(arms.named_arms(), arms_max, catalogue, block);
  BANDANA_RETURN_IF_ERROR(LoadArms(arms, bounds, arms_max, catalogue, block, offer));
  if (!arms.has_inline_arms()) Join(block);
  return absl::OkStatus();
}

absl::Status NamedFeatures::LoadNamed(const v1::NamedArms& arms, int arms_max,
                                      const Catalogue& catalogue, ArmBlock& block) {
  block.Clear();
  const int n = arms.arms_size();
  if (n < 1 || n > arms_max) {
    return InvalidArgument("arms.named_arms: 1 to ", arms_max, " arms a decision, got ", n);
  }
  const auto d = static_cast<std::size_t>(schema_->dimension());
  const auto parts = static_cast<std::size_t>(catalogue.parts());
  block.keys.assign(static_cast<std::size_t>(n) * parts, kAbsent);
  block.scaled.resize(static_cast<std::size_t>(n) * d);
  row_.resize(d);
  ids_.clear();
  for (int i = 0; i < n; ++i) {
    const v1::NamedArm& arm = arms.arms(i);
    BANDANA_RETURN_IF_ERROR(CheckId(i, arm.id(), ids_.insert(arm.id()).second));
    const auto at = static_cast<std::size_t>(i);
    const std::span<double> x(block.scaled.data() + at * d, d);
    const ValuePath path{.list = "arms", .index = i, .member = "features"};
    const std::span<double> row = no_context() ? x : std::span(row_);
    BANDANA_RETURN_IF_ERROR(EncodeArm(*schema_, FromProto(arm.features()), path, log_, row));
    if (!no_context()) bandana::Join(*schema_, context_, row, x);
    SetKeys(arm.id(), catalogue, std::span(block.keys).subspan(at * parts, parts));
    block.names.push_back(arm.id());
    block.arms.push_back(x.data());
  }
  return absl::OkStatus();
}

void NamedFeatures::Join(ArmBlock& block) const {
  if (no_context()) return;
  const auto d = static_cast<std::size_t>(schema_->dimension());
  block.scaled.resize(block.arms.size() * d);
  for (std::size_t i = 0; i < block.arms.size(); ++i) {
    const std::span<double> x(block.scaled.data() + i * d, d);
    bandana::Join(*schema_, context_, {block.arms[i], d}, x);
    block.arms[i] = x.data();
  }
}

bool NamedFeatures::Fold(const NodePosterior& from, NodePosterior& to) const {
  if (!schema_->has_bias()) return false;
  const auto d = static_cast<std::size_t>(schema_->dimension());
  // x = A row: by entry of the row, where it goes in x and times what.
  const std::vector<std::vector<ContextTerm>> terms = ContextTerms(*schema_, context_);
  to.alpha = from.alpha;
  to.mean.assign(d, 0.0);
  for (std::size_t j = 0; j < d; ++j) {
    for (const ContextTerm& term : terms[j]) {
      to.mean[j] += term.factor * from.mean[static_cast<std::size_t>(term.entry)];
    }
  }
  to.covariance.clear();
  if (from.covariance.empty()) return true;
  to.covariance.assign(d * d, 0.0);
  std::vector<double> half(d * d, 0.0);  // A' K
  for (std::size_t j = 0; j < d; ++j) {
    for (const ContextTerm& term : terms[j]) {
      const double* const row = from.covariance.data() + static_cast<std::size_t>(term.entry) * d;
      for (std::size_t i = 0; i < d; ++i) half[j * d + i] += term.factor * row[i];
    }
  }
  for (std::size_t j = 0; j < d; ++j) {
    for (std::size_t k = 0; k < d; ++k) {
      double sum = 0;
      for (const ContextTerm& term : terms[k]) {
        sum += term.factor * half[j * d + static_cast<std::size_t>(term.entry)];
      }
      to.covariance[j * d + k] = sum;
    }
  }
  return true;
}

void NamedFeatures::Fill(const ArmBlock& block, const Catalogue& catalogue,
                         const std::vector<int>& ranking, v1::SelectResponse& response) const {
  for (const std::string& note : log_.notes()) response.add_notes(note);
  if (block.names.empty() && (block.ids.empty() || !catalogue.has_names())) return;
  bool named = false;
  for (const int position : ranking) {
    const auto at = static_cast<std::size_t>(position);
    std::string_view name = block.names.empty() ? std::string_view() : block.names[at];
    if (block.names.empty()) {
      if (const auto arm = catalogue.Find(block.ids[at])) name = catalogue.NameOf(*arm);
    }
    named = named || !name.empty();
    response.add_arm_names(std::string(name));
  }
  if (!named) response.clear_arm_names();
}

}  // namespace bandana::server
