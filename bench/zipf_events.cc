#include "bench/zipf_events.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "common/base/check.h"
#include "common/design/planner/served_config.h"
#include "common/model/entries/records.h"

namespace bandana::bench {
namespace {

constexpr int kTokenSeconds = 600;  // 600,000 ids are remembered
constexpr double kEventsPerSecond = 1000;

}  // namespace

ModelSpec ZipfModelSpec(const ZipfOptions& options) {
  v1::ModelConfig config;
  config.set_name("zipf");
  config.set_dimension(options.dimension);
  config.set_mode(v1::NON_PRIVATE);
  config.mutable_token_lifetime()->set_seconds(kTokenSeconds);
  config.mutable_effects()->mutable_standard()->set_pairs(options.pairs);
  if (!options.weights) config.mutable_effects()->mutable_weights()->set_none(true);
  config.mutable_effects()->set_users_max(options.users);
  config.set_arms_max(options.arms);
  for (int level = 0; level < options.levels; ++level) {
    config.mutable_effects()->add_user_groups(ZipfEvents::LevelName(level));
  }
  std::vector<ConfigError> errors;
  std::optional<ModelSpec> spec = ParseServedModel(config, "", /*allow_files=*/false, errors);
  BANDANA_CHECK(spec.has_value());
  return *std::move(spec);
}

std::unique_ptr<ModelCore> MakeZipfModel(const ZipfOptions& options) {
  auto core = ModelCore::Create(ZipfModelSpec(options), InstanceId{}, /*key=*/nullptr);
  BANDANA_CHECK(core.ok());
  return *std::move(core);
}

absl::Time ZipfLog::Now() const {
  return absl::FromUnixSeconds(1'000'000'000) +
         absl::Seconds(static_cast<double>(number_) / kEventsPerSecond);
}

std::string ZipfLog::Time() const { return Encode(TimeRecord{.now = Now()}); }

std::string ZipfLog::Outcome(const ZipfEvent& event) {
  std::vector<EffectKey> keys = event.user;
  keys.insert(keys.end(), event.arm.begin(), event.arm.end());
  OutcomeRecord record{.event = {.time = Now(), .node = 0, .features = event.x, .keys = keys},
                       .received = Now(),
                       .deadline = Now() + absl::Seconds(kTokenSeconds),
                       .reward = event.reward};
  ++number_;
  std::memcpy(record.event.id.data() + 8, &number_, sizeof number_);  // as a server numbers them
  return Encode(record);
}

ZipfLaw::ZipfLaw(int n) {
  cumulative_.reserve(n);
  double sum = 0;
  for (int i = 0; i < n; ++i) cumulative_.push_back(sum += 1.0 / (1 + i));
}

int ZipfLaw::Draw(SeededStream& stream) const {
  const double at = stream.Uniform() * cumulative_.back();
  const auto found = std::upper_bound(cumulative_.begin(), cumulative_.end() - 1, at);
  return static_cast<int>(found - cumulative_.begin());
}

ZipfEvents::ZipfEvents(const ZipfOptions& options)
    : options_(options),
      users_(options.users),
      arms_(options.arms),
      stream_(options.seed, StreamPurpose::kArrival, 0) {
  for (int level = 0; level < options.levels; ++level) {
    auto& keys = group_keys_.emplace_back();
    const int groups = std::max(1, options.groups >> level);
    for (int group = 0; group < groups; ++group) {
      keys.push_back(GroupKey(ZipfEvents::LevelName(level), std::to_string(group)));
    }
  }
}

std::string ZipfEvents::LevelName(int level) { return "level" + std::to_string(level); }

// Popular users fall into groups as all others do.
int ZipfEvents::GroupOf(int user, int level) const {
  const auto group = Permuted(options_.seed, 0, options_.users, user) % options_.groups;
  return static_cast<int>((group >> level) % group_keys_[level].size());
}

std::string ZipfEvents::DrawUserName() { return std::to_string(users_.Draw(stream_)); }

void ZipfEvents::DrawUser(std::vector<EffectKey>& parts) {
  const int user = users_.Draw(stream_);
  parts.assign(1, UserKey(std::to_string(user)));
  for (int level = 0; level < options_.levels; ++level) {
    parts.push_back(group_keys_[level][GroupOf(user, level)]);
  }
}

void ZipfEvents::DrawArm(std::vector<EffectKey>& parts) {
  parts.assign(1, ArmKey(static_cast<std::uint32_t>(arms_.Draw(stream_))));
}

void ZipfEvents::DrawFeatures(std::vector<double>& x) {
  x.resize(options_.dimension);
  double square = 0;
  for (double& value : x) {
    value = stream_.QuickNormal();
    square += value * value;
  }
  for (double& value : x) value /= std::sqrt(square);
}

void ZipfEvents::Next(ZipfEvent& event) {
  DrawUser(event.user);
  DrawArm(event.arm);
  DrawFeatures(event.x);
  event.reward = stream_.Uniform() < 0.2 + 0.1 * event.x[0] ? 1 : 0;
}

}  // namespace bandana::bench
