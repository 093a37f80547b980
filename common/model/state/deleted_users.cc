#include "common/model/state/deleted_users.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "common/base/hmac.h"
#include "common/base/status.h"

namespace bandana {

UserHash DeletedUsers::HashOf(const Key& key, EffectKey user) {
  std::string message;
  ByteWriter(message).U64(user);
  Sha256Digest digest{};
  UserHash hash{};
  if (!HmacSha256(key, message, digest)) return hash;
  std::copy_n(digest.begin(), hash.size(), hash.begin());
  return hash;
}

const DeletedUsers::Entry* DeletedUsers::Find(EffectKey user) const {
  if (entries_.empty()) return nullptr;
  const auto found = entries_.find(HashOf(key_, user));
  return found == entries_.end() ? nullptr : &found->second;
}

absl::Status DeletedUsers::Add(const DeleteRecord& record, const DeletedUser& user,
                               std::uint64_t events) {
  if (entries_.empty()) key_ = record.key;
  if (key_ != record.key) return DataLoss("users are deleted under another key than those before");
  Entry& entry = entries_[user.hash];
  if (user.node >= 0) {
    entry.node = user.node;
    entry.events = events;
    nodes_[user.node] = user.hash;
  }
  entry.deleted = record.now;
  entry.until = record.until;
  return absl::OkStatus();
}

template <typename Goes>
bool DeletedUsers::DropIf(const Goes& goes) {
  const std::size_t dropped = std::erase_if(entries_, [&](const auto& one) {
    if (!goes(one.second)) return false;
    nodes_.erase(one.second.node);
    return true;
  });
  if (entries_.empty()) Clear();
  return dropped > 0;
}

bool DeletedUsers::DropDue(absl::Time now) {
  if (entries_.empty()) return false;
  return DropIf([&](const Entry& entry) { return entry.until <= now; });
}

void DeletedUsers::KeepCounted() {
  DropIf([](const Entry& entry) { return entry.until != absl::InfiniteFuture(); });
}

void DeletedUsers::Encode(ByteWriter& out) const {
  out.Fixed(key_);
  out.U64(entries_.size());
  for (const auto& [hash, entry] : entries_) {
    const bool counted = entry.until == absl::InfiniteFuture();
    out.Fixed(hash);
    out.I32(entry.node);
    out.I64(absl::ToUnixNanos(entry.deleted));
    out.I64(counted ? INT64_MAX : absl::ToUnixNanos(entry.until));
    out.U64(entry.events);
  }
}

absl::Status DeletedUsers::Decode(ByteReader& in) {
  Clear();
  in.Fixed(key_);
  const std::uint64_t count = in.U64();
  for (std::uint64_t i = 0; i < count && in.ok(); ++i) {
    UserHash hash{};
    in.Fixed(hash);
    Entry entry{.node = in.I32()};
    entry.deleted = absl::FromUnixNanos(in.I64());
    const std::int64_t until = in.I64();
    entry.until = until == INT64_MAX ? absl::InfiniteFuture() : absl::FromUnixNanos(until);
    entry.events = in.U64();
    if (entry.node >= 0) nodes_[entry.node] = hash;
    entries_.emplace(hash, entry);
  }
  return in.ok() ? absl::OkStatus() : DataLoss("checkpoint: deleted users are truncated");
}

std::optional<EffectKey> UserOf(std::string_view user, const PackedKeys& keys) {
  if (!user.empty()) return UserKey(user);
  if (keys.empty()) return std::nullopt;
  EffectKey first = kAbsent;
  std::memcpy(&first, keys.bytes().data(), sizeof first);
  return first;
}

}  // namespace bandana
