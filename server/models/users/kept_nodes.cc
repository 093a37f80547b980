#include "server/models/users/kept_nodes.h"

#include <utility>

#include "common/base/bytes.h"
#include "common/base/sha256.h"
#include "common/base/status.h"
#include "common/design/node_number.h"
#include "common/design/user_nodes.h"
#include "server/models/users/user_rows.h"

namespace bandana::server {
namespace {

constexpr char kFile[] = "user_nodes";
constexpr std::uint64_t kNodesBytesMax = std::uint64_t{1} << 31;
constexpr std::uint8_t kFormat = 1;
constexpr int kNone = -1;

bool Keeps(const ModelSpec& spec) {
  return spec.public_spec.epsilon.value > 0 && UserNodesOf(spec).known() == UserNodes::Known::kPut;
}

}  // namespace

absl::Status CheckKeepsNode(const ModelSpec& spec, std::string_view field, int present, int node) {
  if (spec.public_spec.epsilon.value <= 0 || present < 0 || present == node) {
    return absl::OkStatus();
  }
  return FailedPrecondition(ToAbsl(field), ": the user has node ", present, ", not ", node,
                            ", and keeps it in a private model, which counts there what the user "
                            "may spend");
}

absl::StatusOr<KeptNodes> KeptNodes::Read(const StateStore& state) {
  KeptNodes kept;
  const absl::StatusOr<std::string> bytes = state.Read(kFile, kNodesBytesMax);
  if (absl::IsNotFound(bytes.status())) return kept;
  BANDANA_RETURN_IF_ERROR(bytes.status());
  const absl::Status damaged = DataLoss(state.Where(kFile), ": is damaged");
  if (bytes->size() < sizeof(Sha256Digest)) return damaged;
  const std::string_view body =
      std::string_view(*bytes).substr(0, bytes->size() - sizeof(Sha256Digest));
  if (AsChars(Sha256Of(body)) != std::string_view(*bytes).substr(body.size())) return damaged;
  ByteReader in(body);
  if (in.U8() != kFormat) return damaged;
  kept.numbers_ = in.U8() != 0;
  if (const std::int32_t node = in.I32(); node != kNone) kept.cold_start_ = node;
  for (std::uint64_t left = in.U64(); left > 0 && in.remaining() > 0; --left) {
    const EffectKey key = in.U64();
    kept.nodes_[key] = in.I32();
  }
  return in.Done() ? absl::StatusOr<KeptNodes>(std::move(kept)) : damaged;
}

absl::Status KeptNodes::Write(StateStore& state) const {
  std::string bytes;
  ByteWriter out(bytes);
  out.U8(kFormat);
  out.U8(numbers_ ? 1 : 0);
  out.I32(cold_start_.value_or(kNone));
  out.U64(nodes_.size());
  for (const auto& [key, node] : nodes_) {
    out.U64(key);
    out.I32(node);
  }
  const Sha256Digest digest = Sha256Of(bytes);
  bytes.append(AsChars(digest));
  return state.Write(kFile, bytes);
}

int KeptNodes::NodeOf(std::string_view id, EffectKey key, int nodes) const {
  const auto found = nodes_.find(key);
  if (found != nodes_.end()) return found->second;
  return numbers_ ? NodeOfNumber(id, nodes) : kNone;
}

absl::Status KeptNodes::Check(const ModelSpec& spec) const {
  if (!Keeps(spec)) return absl::OkStatus();
  const int nodes = spec.coupling.nodes();
  for (const auto& [id, node] : spec.users) {
    BANDANA_RETURN_IF_ERROR(CheckKeepsNode(spec, "users", NodeOf(id, UserKey(id), nodes), node));
  }
  for (int node = 0; spec.users.empty() && node < nodes && !nodes_.empty(); ++node) {
    const auto named = nodes_.find(UserKey(absl::StrCat(node)));
    if (named == nodes_.end()) continue;
    BANDANA_RETURN_IF_ERROR(CheckKeepsNode(spec, "users", named->second, node));
  }
  if (!cold_start_ || !spec.cold_start_node || *cold_start_ == *spec.cold_start_node) {
    return absl::OkStatus();
  }
  return FailedPrecondition("cold_start_node: unknown users have node ", *cold_start_, ", not ",
                            *spec.cold_start_node,
                            ", and keep it in a private model, which counts there what they may "
                            "spend");
}

absl::Status KeptNodes::Check(const ModelSpec& spec, const UserBatch& users) const {
  if (!Keeps(spec)) return absl::OkStatus();
  const int nodes = spec.coupling.nodes();
  BANDANA_ASSIGN_OR_RETURN(const UserRows rows, UserRows::Of(users.users(), {"node"}));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    BANDANA_RETURN_IF_ERROR(CheckKeepsNode(spec, absl::StrCat("users[", i, "].node"),
                                           NodeOf(rows.id(i), users.key(i), nodes),
                                           UserBatch::NodeOf(rows.value(i, 0), nodes)));
  }
  return absl::OkStatus();
}

bool KeptNodes::Take(const ModelSpec& spec) {
  if (!Keeps(spec)) return false;
  bool changed = false;
  for (const auto& [id, node] : spec.users) {
    changed |= nodes_.emplace(UserKey(id), node).second;
  }
  if (spec.users.empty()) changed |= !std::exchange(numbers_, true);
  if (spec.cold_start_node && !cold_start_) {
    cold_start_ = spec.cold_start_node;
    changed = true;
  }
  return changed;
}

bool KeptNodes::Forget(std::span<const std::string> ids) {
  std::size_t forgotten = 0;
  for (const std::string& id : ids) forgotten += nodes_.erase(UserKey(id));
  return forgotten > 0;
}

}  // namespace bandana::server
