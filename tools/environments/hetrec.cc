#include "tools/environments/hetrec.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/base/limits.h"
#include "common/base/status.h"
#include "tools/environments/hetrec_data.h"
#include "tools/environments/random.h"

namespace bandana {
namespace {

enum class Draw { kUsers, kEvents, kReplay };
enum class Others { kUniform, kPopular };

class Hetrec final : public Environment {
 public:
  // `had`: of every user of the data, ascending positions of the arms that the user had.
  Hetrec(HetrecData data, std::vector<std::vector<std::uint32_t>> had, Draw draw, Others others,
         int pool, std::uint64_t seed)
      : data_(std::move(data)), had_(std::move(had)), draw_(draw), others_(others), seed_(seed) {
    for (std::uint32_t user = 0; user < data_.users.size(); ++user) {
      if (!data_.users[user].items.empty()) with_items_.push_back(user);
    }
    info_.name = "hetrec";
    info_.form = ArmForm::kCatalogue;
    info_.dimension = data_.dimension;
    info_.users = static_cast<int>(draw == Draw::kUsers ? with_items_.size() : data_.users.size());
    info_.pool = pool;
    info_.feature_l2_max = 1;
    info_.reward_min = 0;
    info_.reward_max = 1;
    info_.reward_binary = true;
    info_.reward_stddev = 1;
    info_.theta_stddev = 1;
  }

  const EnvironmentInfo& info() const override { return info_; }

  void DecisionAt(std::uint64_t index, Choice& out) const override {
    SeededStream stream(seed_, StreamPurpose::kDecision, index);
    const auto [user_position, positive] = Turn(index, stream);
    const std::vector<std::uint32_t>& had = had_[user_position];
    out.user = data_.users[user_position].id;
    out.features.clear();
    out.arm_ids.assign(1, positive);
    while (out.arm_ids.size() < static_cast<std::size_t>(info_.pool)) {
      const std::uint32_t arm = OtherArm(stream);
      if (std::binary_search(had.begin(), had.end(), arm)) continue;
      if (std::find(out.arm_ids.begin() + 1, out.arm_ids.end(), arm) != out.arm_ids.end()) continue;
      out.arm_ids.push_back(arm);
    }
    Shuffle(stream, std::span(out.arm_ids));
    out.expected.clear();
    for (std::uint32_t& arm : out.arm_ids) {
      out.expected.push_back(arm == positive ? 1 : 0);
      arm = data_.arms[arm];
    }
  }

  double RewardAt(std::uint64_t, const Choice& decision, int position) const override {
    return decision.expected[position];
  }

 private:
  // An arm that may stand beside the one that the user had, unless the user had it as well.
  std::uint32_t OtherArm(SeededStream& stream) const {
    if (others_ == Others::kPopular) return AnyItem(stream).arm;
    return static_cast<std::uint32_t>(stream.Below(data_.arms.size()));
  }

  // A random item of a random user.
  HetrecData::Event AnyItem(SeededStream& stream) const {
    const std::uint32_t user = with_items_[stream.Below(with_items_.size())];
    const std::vector<std::uint32_t>& items = data_.users[user].items;
    return {user, items[stream.Below(items.size())]};
  }

  // Whose turn decision `index` is, and an arm that this user had; positions in data_.
  HetrecData::Event Turn(std::uint64_t index, SeededStream& stream) const {
    const std::uint64_t events = data_.events.size();
    switch (draw_) {
      case Draw::kReplay:
        return data_.events[index % events];
      case Draw::kEvents:
        return data_.events[Permuted(seed_, index / events, events, index % events)];
      case Draw::kUsers:
        break;
    }
    return AnyItem(stream);
  }

  EnvironmentInfo info_;
  HetrecData data_;
  std::vector<std::vector<std::uint32_t>> had_;
  std::vector<std::uint32_t> with_items_;  // users to draw from
  Draw draw_;
  Others others_;
  std::uint64_t seed_;
};

// The items of each user: those of the data when users are drawn, else the tagged ones as well.
std::vector<std::vector<std::uint32_t>> WhatUsersHad(const HetrecData& data, Draw draw) {
  std::vector<std::vector<std::uint32_t>> had;
  for (const HetrecData::User& user : data.users) {
    had.push_back(user.items);
    if (draw == Draw::kUsers) continue;
    had.back().clear();
    std::set_union(user.items.begin(), user.items.end(), user.tagged.begin(), user.tagged.end(),
                   std::back_inserter(had.back()));
  }
  return had;
}

// Ascending positions of the arms that others are drawn from.
std::vector<std::uint32_t> OtherArms(const HetrecData& data, Others others) {
  std::vector<std::uint32_t> arms;
  if (others == Others::kUniform) {
    arms.resize(data.arms.size());
    std::iota(arms.begin(), arms.end(), 0);
    return arms;
  }
  for (const HetrecData::User& user : data.users) {
    arms.insert(arms.end(), user.items.begin(), user.items.end());
  }
  std::sort(arms.begin(), arms.end());
  arms.erase(std::unique(arms.begin(), arms.end()), arms.end());
  return arms;
}

// Whether every user left enough of the arms that others are drawn from.
absl::Status CheckPool(std::span<const std::vector<std::uint32_t>> had,
                       std::span<const std::uint32_t> others, int pool) {
  std::vector<std::uint32_t> left;
  for (const std::vector<std::uint32_t>& arms : had) {
    left.clear();
    std::set_difference(others.begin(), others.end(), arms.begin(), arms.end(),
                        std::back_inserter(left));
    if (left.size() + 1 >= static_cast<std::size_t>(pool)) continue;
    return InvalidArgument("a pool of ", pool, " needs ", pool - 1,
                           " arms that a user never had; one user left only ", left.size(), " of ",
                           others.size());
  }
  return absl::OkStatus();
}

template <typename Enum, std::size_t kCount>
absl::StatusOr<Enum> TakeEnum(Settings& settings, std::string_view key,
                              const std::array<std::string_view, kCount>& names) {
  BANDANA_ASSIGN_OR_RETURN(const std::string name, settings.TakeChoice(key, names[0], names));
  return static_cast<Enum>(std::find(names.begin(), names.end(), name) - names.begin());
}

}  // namespace

absl::StatusOr<std::unique_ptr<Environment>> MakeHetrec(std::string_view spec, Settings& settings,
                                                        std::uint64_t seed) {
  constexpr std::string_view kReplaySuffix = ":replay";
  if (spec.ends_with(kReplaySuffix)) {
    spec.remove_suffix(kReplaySuffix.size());
    BANDANA_RETURN_IF_ERROR(settings.Add("draw", "replay"));
  }
  if (spec.empty()) return InvalidArgument("environment hetrec needs a folder: hetrec:DIR");
  constexpr std::array<std::string_view, 3> kDraws = {"users", "events", "replay"};
  constexpr std::array<std::string_view, 2> kOthers = {"uniform", "popular"};
  BANDANA_ASSIGN_OR_RETURN(const int pool, settings.TakeInt("pool", 25, 1, kArmsPerRequestMaxMax));
  BANDANA_ASSIGN_OR_RETURN(const Draw draw, TakeEnum<Draw>(settings, "draw", kDraws));
  BANDANA_ASSIGN_OR_RETURN(const Others others, TakeEnum<Others>(settings, "others", kOthers));
  BANDANA_RETURN_IF_ERROR(settings.Finish());
  BANDANA_ASSIGN_OR_RETURN(HetrecData data, ReadHetrec(std::string(spec)));
  std::vector<std::vector<std::uint32_t>> had = WhatUsersHad(data, draw);
  BANDANA_RETURN_IF_ERROR(CheckPool(had, OtherArms(data, others), pool));
  return std::make_unique<Hetrec>(std::move(data), std::move(had), draw, others, pool, seed);
}

}  // namespace bandana
