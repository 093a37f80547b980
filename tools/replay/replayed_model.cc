#include "tools/replay/replayed_model.h"

#include <google/protobuf/text_format.h>

#include <array>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <numbers>
#include <utility>
#include <variant>

#include "common/base/file.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "common/design/family.h"
#include "common/design/files/arms_tsv.h"
#include "common/design/planner/served_config.h"
#include "common/design/user_nodes.h"
#include "common/model/entries/records.h"
#include "common/promise/mechanism.h"
#include "common/promise/mode.h"
#include "common/promise/reward_reports.h"
#include "common/ranking/policies/selection_rules.h"

namespace bandana {
namespace {

constexpr double kReleasedError = 1e-9;  // of the width of released values

absl::StatusOr<KeyedStream> NoiseOf(const ReplayOptions& options) {
  return SeededNoise(
      absl::StrCat("bandana replay 1 ", options.seed, " ", options.epsilon.value_or(0)));
}

absl::StatusOr<v1::ModelConfig> ReadConfig(const ReplayOptions& options) {
  BANDANA_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(options.file, kConfigFileBytesMax));
  v1::ModelConfig config;
  if (!google::protobuf::TextFormat::ParseFromString(text, &config)) {
    return InvalidArgument("is not a textproto of ModelConfig");
  }
  // A decision is learnt from at once, and nothing is logged.
  config.clear_decision_log();
  config.mutable_reporting()->set_one_per_decision(true);
  if (options.epsilon) {
    if (config.has_privacy()) {
      return InvalidArgument(
          "privacy: must not be set for --epsilon, which says what it would cost");
    }
    config.set_mode(v1::LOCAL_REWARD);
    config.mutable_privacy()->set_epsilon(*options.epsilon);
    config.mutable_privacy()->set_mechanism(v1::REWARD_RANDOMIZER);
  }
  return config;
}

// Takes the models that may have a policy, whose events are single rewards in the whole range.
absl::Status CheckKind(const ModelSpec& spec) {
  const std::string_view no_policy = ModeOf(spec.public_spec.mode).no_policy;
  if (!no_policy.empty()) return InvalidArgument("mode: a policy ", ToAbsl(no_policy));
  const Family::Scope scope = FamilyOf(spec).scope();
  if (!scope.own_choice.empty()) {
    return InvalidArgument(ToAbsl(scope.plural), " have no propensities that a log could judge");
  }
  if (spec.half_life > absl::ZeroDuration()) return InvalidArgument("half_life: must not be set");
  if (spec.policy != nullptr && spec.policy->favours_cold()) {
    return InvalidArgument("effects.cold_arms: must not be set");
  }
  if (UserNodesOf(spec).known() == UserNodes::Known::kPut) {
    return InvalidArgument("couplings by a graph need users by name, which a log does not have");
  }
  const RewardReports* const rewards = spec.public_spec.made->rewards();
  const bool narrow =
      rewards != nullptr && rewards->WindowFor(0, 1, spec.reward_stddev).has_value();
  if (narrow || (spec.config.has_privacy() && rewards == nullptr)) {
    return InvalidArgument(
        "privacy.mechanism: must be REWARD_RANDOMIZER: no other learns from rewards as they are "
        "logged");
  }
  return absl::OkStatus();
}

absl::StatusOr<ModelSpec> ReadSpec(const ReplayOptions& options) {
  BANDANA_ASSIGN_OR_RETURN(const v1::ModelConfig config, ReadConfig(options));
  std::vector<ConfigError> errors;
  const std::string folder = std::filesystem::path(options.file).parent_path().string();
  std::optional<ModelSpec> spec = ParseServedModel(config, folder, /*allow_files=*/true, errors);
  if (!spec) {
    std::string mistakes;
    for (const ConfigError& error : errors) {
      absl::StrAppend(&mistakes, mistakes.empty() ? "" : "; ", error.field, ": ", error.message);
    }
    return absl::InvalidArgumentError(mistakes);
  }
  BANDANA_RETURN_IF_ERROR(CheckKind(*spec));
  return *std::move(spec);
}

// Ids only have to differ.
DecisionId IdOf(std::uint64_t number) {
  DecisionId id{};
  std::memcpy(id.data(), &number, sizeof number);
  return id;
}

}  // namespace

ReplayedModel::ReplayedModel(std::unique_ptr<ModelCore> core, const ReplayOptions& options,
                             KeyedStream noise)
    : core_(std::move(core)),
      options_(options),
      noise_(std::move(noise)),
      reader_(MakeOutcomeReader(core_->spec())),
      arms_(core_->spec()),
      law_(core_->spec(), noise_) {}

absl::StatusOr<std::unique_ptr<ReplayedModel>> ReplayedModel::Create(const ReplayOptions& options) {
  BANDANA_ASSIGN_OR_RETURN(ModelSpec spec, ReadSpec(options));
  const std::string arms_file = spec.arms_file;
  BANDANA_ASSIGN_OR_RETURN(std::unique_ptr<ModelCore> core,
                           ModelCore::Create(std::move(spec), InstanceId{}, nullptr));
  BANDANA_ASSIGN_OR_RETURN(KeyedStream noise, NoiseOf(options));
  std::unique_ptr<ReplayedModel> model(
      new ReplayedModel(std::move(core), options, std::move(noise)));
  if (!arms_file.empty()) BANDANA_RETURN_IF_ERROR(model->ReadCatalogue(arms_file));
  ModelCore& made = *model->core_;
  BANDANA_ASSIGN_OR_RETURN(std::optional<std::string> opening,
                           made.path().Opening(made.spec(), made.state()));
  if (opening) BANDANA_RETURN_IF_ERROR(made.Append(*std::move(opening)));
  return model;
}

absl::Status ReplayedModel::ReadCatalogue(const std::string& path) {
  BANDANA_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kAdminStreamBytesMax));
  const PublicSpec& rules = spec().public_spec;
  auto arms = ParseArmsTsv(text, rules.dimension, kArmsMaxMax);
  BANDANA_RETURN_IF_ERROR(Annotate(arms.status(), path));
  for (TsvArm& arm : *arms) arms_.Put(arm.id, std::move(arm.features), arm.groups);
  return absl::OkStatus();
}

std::vector<EffectKey> ReplayedModel::KeysOfUser(const std::string& user) const {
  if (!spec().effects) return {};
  // The groups of a pseudonym are not known.
  std::vector<EffectKey> keys(1 + spec().effects->user_groups.size(), kAbsent);
  if (!user.empty()) keys[0] = UserKey(user);
  return keys;
}

absl::StatusOr<int> ReplayedModel::NodeOf(const std::string& user) const {
  const UserNodes& nodes = UserNodesOf(spec());
  if (nodes.known() == UserNodes::Known::kSeen && user.empty()) {
    return FailedPrecondition("user: the log has no users; export it with --users");
  }
  return nodes.Resolve(spec(), user,
                       [&](std::string_view name) { return core_->users().Find(name); });
}

absl::Status ReplayedModel::Law(const LoggedDecision& decision, const LoggedSlot& slot,
                                const std::vector<std::uint8_t>& taken, std::vector<double>& law) {
  BANDANA_RETURN_IF_ERROR(arms_.Find(slot));
  if (core_->stale()) BANDANA_RETURN_IF_ERROR(core_->Refresh());
  const std::vector<EffectKey> user = KeysOfUser(decision.user);
  BANDANA_ASSIGN_OR_RETURN(const int node, NodeOf(decision.user));
  return law_.Of(*core_->Served(), {.node = node, .keys = user}, arms_.all(), taken, law);
}

absl::StatusOr<std::uint32_t> ReplayedModel::OutputOf(double released) {
  const RewardReports& rewards = *spec().public_spec.made->rewards();
  if (output_values_.empty()) {
    for (std::uint32_t output = 0; output < rewards.outputs(); ++output) {
      const auto read = rewards.Read({.output = output}, spec().reward_stddev);
      const auto* event = std::get_if<RewardEvent>(&read);
      if (event == nullptr) return Internal("the randomizer does not read its own output");
      output_values_.push_back(event->value);
    }
  }
  const double width = output_values_.back() - output_values_.front();
  for (std::uint32_t output = 0; output < output_values_.size(); ++output) {
    if (std::abs(output_values_[output] - released) <= kReleasedError * std::abs(width)) {
      return output;
    }
  }
  return FailedPrecondition(
      "released: the configuration's randomizer does not give the log's values; it needs the log's "
      "epsilon and reward range");
}

absl::StatusOr<ReportedReward> ReplayedModel::ReportOf(const LoggedSlot& slot) {
  const bool known = slot.state == RewardState::kKnown;
  const RewardReports* const rewards = spec().public_spec.made->rewards();
  if (slot.released && known) {
    if (rewards == nullptr) {
      return FailedPrecondition(
          "released: a NON_PRIVATE configuration does not learn from released rewards");
    }
    BANDANA_ASSIGN_OR_RETURN(const std::uint32_t output, OutputOf(slot.reward));
    return ReportedReward{.output = output};
  }
  const double raw = known ? slot.reward : options_.unreported;
  if (rewards == nullptr) return ReportedReward{.reward = raw};
  BANDANA_ASSIGN_OR_RETURN(
      const PerturbedReward drawn,
      rewards->Draw(
          rewards->Clip(RawReward(raw), spec().public_spec.default_reward(), std::nullopt),
          noise_));
  return ReportedReward{.output = drawn.output()};
}

absl::Status ReplayedModel::Score(const LoggedDecision& decision, const ArmsOnOffer& arms) {
  if (core_->stale()) BANDANA_RETURN_IF_ERROR(core_->Refresh());
  const std::vector<EffectKey> user = KeysOfUser(decision.user);
  BANDANA_ASSIGN_OR_RETURN(const int node, NodeOf(decision.user));
  core_->Served()->Score(Whom{.node = node, .keys = user}, arms, scratch_, scores_);
  return absl::OkStatus();
}

absl::Status ReplayedModel::Means(const LoggedDecision& decision, const LoggedSlot& slot,
                                  std::vector<double>& means) {
  BANDANA_RETURN_IF_ERROR(arms_.Find(slot));
  BANDANA_RETURN_IF_ERROR(Score(decision, arms_.all()));
  means = scores_.means;
  return absl::OkStatus();
}

absl::StatusOr<double> ReplayedModel::LogDensity(const LoggedDecision& decision,
                                                 const LoggedSlot& slot,
                                                 const Family::Weighed& event) {
  BANDANA_RETURN_IF_ERROR(Score(decision, arms_.only(slot.chosen)));
  const double noise = spec().effects ? spec().reward_stddev * spec().reward_stddev + event.variance
                                      : spec().bandit.observation_variance;
  // A scaled event is one of the features times the scale.
  const double mean = event.scale * scores_.means[0];
  const double variance = noise + std::pow(event.scale * scores_.widths[0], 2);
  return -0.5 * (std::log(2 * std::numbers::pi * variance) +
                 (event.reward - mean) * (event.reward - mean) / variance) +
         std::log(event.scale);
}

absl::Status ReplayedModel::LearnSlot(const LoggedDecision& decision, const LoggedSlot& slot,
                                      double* log_density) {
  BANDANA_RETURN_IF_ERROR(arms_.Find(slot));
  BANDANA_ASSIGN_OR_RETURN(const ReportedReward report, ReportOf(slot));
  const auto read = reader_->Read(report);
  const auto* event = std::get_if<ReadReward>(&read);
  if (event == nullptr) {
    return FailedPrecondition("reward: the model refuses it: ",
                              v1::RejectReason_Name(std::get<v1::RejectReason>(read)));
  }
  if (log_density != nullptr) {
    BANDANA_ASSIGN_OR_RETURN(const double density, LogDensity(decision, slot, event->event));
    *log_density += density;
  }
  std::vector<EffectKey> keys = KeysOfUser(decision.user);
  const ArmsOnOffer chosen = arms_.only(slot.chosen);
  keys.insert(keys.end(), chosen.keys.begin(), chosen.keys.end());
  BANDANA_ASSIGN_OR_RETURN(const int node, NodeOf(decision.user));
  const UserNodes::Address address = UserNodesOf(spec()).AddressOf(node, decision.user);
  const auto d = static_cast<std::size_t>(spec().public_spec.dimension);
  OutcomeRecord record;
  record.event.id = IdOf(++number_);
  record.event.epoch = core_->state().epoch;
  record.event.time = decision.time;
  record.event.node = address.node;
  record.event.user = address.user;
  record.event.features = PackedDoubles(std::span(chosen.features[0], d));
  record.event.keys = PackedKeys(keys);
  record.received = decision.time;
  record.deadline = absl::InfiniteFuture();
  std::vector<double> scaled;
  WriteOutcome(spec(), event->event, slot.chosen_p, record, scaled);
  return core_->Append(Encode(record));
}

absl::Status ReplayedModel::Learn(const LoggedDecision& decision) {
  for (const LoggedSlot& slot : decision.slots) {
    BANDANA_RETURN_IF_ERROR(LearnSlot(decision, slot, nullptr));
  }
  return absl::OkStatus();
}

absl::StatusOr<double> ReplayedModel::LearnWithEvidence(const LoggedDecision& decision) {
  double evidence = 0;
  for (const LoggedSlot& slot : decision.slots) {
    BANDANA_RETURN_IF_ERROR(LearnSlot(decision, slot, &evidence));
  }
  return evidence;
}

}  // namespace bandana
