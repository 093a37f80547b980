#include "common/design/families/seen_config.h"

#include "common/design/wire_messages.h"

namespace bandana {
namespace {

constexpr absl::Duration kKeptMin = absl::Minutes(1);
constexpr absl::Duration kKeptMax = absl::Hours(8760);
constexpr absl::Duration kKeptDefault = absl::Hours(720);
constexpr std::uint64_t kArmsDefault = 100;
constexpr std::uint64_t kArmsPerSeenUserMax = 1000;
constexpr std::uint64_t kSeenUsersDefault = 100'000;
constexpr std::uint64_t kSeenUsersMax = 10'000'000;

}  // namespace

void ParseSeen(const v1::EffectsCoupling& given, EffectsSpec& out, const FieldChecks& checks) {
  if (!given.has_seen()) return;
  const v1::SeenArms& seen = given.seen();
  const FieldChecks inside = checks.Inside("seen");
  SeenBounds& bounds = out.seen.emplace();
  bounds.kept = seen.has_kept() ? inside.Span("kept", FromProto(seen.kept()), kKeptMin, kKeptMax)
                                : kKeptDefault;
  bounds.arms_per_user = static_cast<std::uint32_t>(
      inside.Count("arms_per_user", seen.arms_per_user() == 0 ? kArmsDefault : seen.arms_per_user(),
                   1, kArmsPerSeenUserMax));
  bounds.users = inside.Count(
      "users_max", seen.users_max() == 0 ? kSeenUsersDefault : seen.users_max(), 1, kSeenUsersMax);
}

}  // namespace bandana
