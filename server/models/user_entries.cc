#include "server/models/user_entries.h"

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "common/base/status.h"
#include "common/model/state/deleted_users.h"

namespace bandana::server {

// A record's data on the user.
struct UserEntries::Found {
  std::string_view kind;
  std::optional<std::string> record;  // nullopt: as it is stored
};

namespace {

bool IsOf(const EventRecord& event, std::string_view id, EffectKey key) {
  return event.user.empty() ? UserOf("", event.keys) == key : event.user == id;
}

}  // namespace

// One overload per kind of entry that may be a user's.
class UserEntries::Reader {
 public:
  explicit Reader(UserEntries& entries) : entries_(entries) {}

  std::optional<Found> Read(const DecisionRecord& r) {
    if (!IsOf(r.event, entries_.id_, entries_.key_)) return std::nullopt;
    entries_.decisions_.insert(r.event.id);
    return Found{"decision", std::nullopt};
  }
  std::optional<Found> Read(const OutcomeRecord& r) {
    if (!IsOf(r.event, entries_.id_, entries_.key_)) return std::nullopt;
    return Found{"report", std::nullopt};
  }
  std::optional<Found> Read(const SeenRecord& r) {
    if (r.user != entries_.key_) return std::nullopt;
    return Found{"seen", std::nullopt};
  }
  std::optional<Found> Read(const CounterRecord& r) {
    if (r.user != entries_.id_) return std::nullopt;
    return Found{"counter", std::nullopt};
  }
  std::optional<Found> Read(const ShownRecord& r) {
    if (!entries_.decisions_.contains(r.id)) return std::nullopt;
    return Found{"shown", std::nullopt};
  }
  std::optional<Found> Read(const CloseRecord& r) {
    CloseRecord own{.now = r.now, .early = r.early};
    for (const ClosedWindow& window : r.windows) {
      if (entries_.decisions_.contains(window.id)) own.windows.push_back(window);
    }
    if (own.windows.empty()) return std::nullopt;
    return Found{"close", Encode(own)};
  }
  template <typename Other>
  std::optional<Found> Read(const Other&) {
    return std::nullopt;
  }

 private:
  UserEntries& entries_;
};

UserEntries::UserEntries(std::string id, int dimension)
    : id_(std::move(id)), key_(UserKey(id_)), dimension_(dimension) {}

template <std::size_t... kKinds>
std::optional<UserEntries::Found> UserEntries::ReadAny(const Record& record,
                                                       std::index_sequence<kKinds...>) {
  using Row = std::optional<Found> (*)(Reader&, const Record&);
  static constexpr std::array<Row, sizeof...(kKinds)> kRows = {
      [](Reader& reader, const Record& any) { return reader.Read(std::get<kKinds>(any)); }...};
  Reader reader(*this);
  return kRows[record.index()](reader, record);
}

absl::Status UserEntries::Look(const LogEntry& entry, v1::ExportUserResponse& out) {
  BANDANA_ASSIGN_OR_RETURN(const Record record, Decode(entry.record, dimension_));
  const std::optional<Found> found =
      ReadAny(record, std::make_index_sequence<std::variant_size_v<Record>>());
  if (!found) return absl::OkStatus();
  v1::UserEntry& added = *out.add_entries();
  added.set_log_sequence(entry.position.sequence);
  added.set_kind(std::string(found->kind));
  added.set_record(found->record.value_or(entry.record));
  return absl::OkStatus();
}

void FillSeen(const SeenArms& seen, EffectKey user, v1::ExportUserResponse& out) {
  for (const SeenKind kind : {SeenKind::kShown, SeenKind::kRewarded}) {
    for (const SeenArms::Seen& arm : seen.Of(kind, user, absl::InfinitePast())) {
      v1::SeenArm& added = *out.add_seen();
      added.set_id(arm.arm);
      added.mutable_time()->set_seconds(absl::ToUnixSeconds(arm.time));
      added.set_rewarded(kind == SeenKind::kRewarded);
    }
  }
}

void FillUserEffects(const std::vector<EffectsPosterior::UserBlock>& blocks,
                     v1::ExportUserResponse& out) {
  for (const EffectsPosterior::UserBlock& block : blocks) {
    v1::UserEffect& effect = *out.add_effects();
    effect.set_name(block.name);
    effect.mutable_means()->Assign(block.mean.begin(), block.mean.end());
    effect.mutable_covariance()->Assign(block.covariance.begin(), block.covariance.end());
  }
}

}  // namespace bandana::server
