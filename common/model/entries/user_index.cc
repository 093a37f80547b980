#include "common/model/entries/user_index.h"

#include "absl/hash/hash.h"
#include "common/base/check.h"
#include "common/base/limits.h"
#include "common/base/status.h"

namespace bandana {
namespace {

constexpr std::size_t kFirstSlots = 64;

std::uint64_t HashOf(std::string_view user) { return absl::HashOf(ToAbsl(user)); }

}  // namespace

UserIndex::UserIndex() : chunks_(new std::atomic<User*>[kIndependentUsersMax / kChunkUsers + 1]()) {
  tables_.push_back(std::make_unique<Table>(kFirstSlots));
  table_.store(tables_.back().get(), std::memory_order_release);
}

UserIndex::~UserIndex() = default;

int UserIndex::Find(std::string_view user) const {
  const std::uint64_t hash = HashOf(user);
  const Table& table = *table_.load(std::memory_order_acquire);
  for (std::size_t i = hash & table.mask;; i = (i + 1) & table.mask) {
    const User* found = table.slots[i].load(std::memory_order_acquire);
    if (found == nullptr) return -1;
    if (found->hash == hash && found->id == user) return found->node;
  }
}

int UserIndex::Add(std::string_view user) {
  if (const int node = Find(user); node >= 0) return node;
  const int node = size_.load(std::memory_order_relaxed);
  BANDANA_CHECK(node < kIndependentUsersMax);
  if (node % kChunkUsers == 0) {
    owned_.push_back(std::make_unique<User[]>(kChunkUsers));
    chunks_[node / kChunkUsers].store(owned_.back().get(), std::memory_order_release);
  }
  User& added = owned_.back()[node % kChunkUsers];
  added = {std::string(user), HashOf(user), node};
  // At most half full: probes stay short and always end at an empty slot.
  if (static_cast<std::size_t>(node + 1) * 2 > tables_.back()->mask + 1) Grow();
  Insert(*tables_.back(), added);
  size_.store(node + 1, std::memory_order_release);
  return node;
}

std::string_view UserIndex::Name(int node) const {
  BANDANA_CHECK(node >= 0 && node < size());
  return chunks_[node / kChunkUsers].load(std::memory_order_acquire)[node % kChunkUsers].id;
}

void UserIndex::Insert(Table& table, const User& user) {
  std::size_t i = user.hash & table.mask;
  while (table.slots[i].load(std::memory_order_relaxed) != nullptr) i = (i + 1) & table.mask;
  table.slots[i].store(&user, std::memory_order_release);
}

void UserIndex::Grow() {
  const Table& old = *tables_.back();
  auto larger = std::make_unique<Table>((old.mask + 1) * 2);
  for (std::size_t i = 0; i <= old.mask; ++i) {
    if (const User* user = old.slots[i].load(std::memory_order_relaxed)) Insert(*larger, *user);
  }
  tables_.push_back(std::move(larger));
  table_.store(tables_.back().get(), std::memory_order_release);
}

}  // namespace bandana
