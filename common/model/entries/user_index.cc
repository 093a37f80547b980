#include "common/model/entries/user_index.h"

#include <algorithm>
#include <cstring>

#include "absl/hash/hash.h"
#include "common/base/check.h"
#include "common/base/limits.h"
#include "common/base/status.h"

namespace bandana {
namespace {

constexpr std::size_t kFirstSlots = 64;
constexpr std::size_t kWord = sizeof(std::uint64_t);

std::uint64_t HashOf(std::string_view user) { return absl::HashOf(ToAbsl(user)); }

std::size_t WordsOf(std::size_t length) { return (length + kWord - 1) / kWord; }

std::uint64_t WordAt(std::string_view id, std::size_t word) {
  std::uint64_t value = 0;
  const std::string_view bytes = id.substr(word * kWord, kWord);
  std::memcpy(&value, bytes.data(), bytes.size());
  return value;
}

}  // namespace

UserIndex::UserIndex() : chunks_(new std::atomic<User*>[kIndependentNodesMax / kChunkUsers + 1]()) {
  tables_.push_back(std::make_unique<Table>(kFirstSlots));
  table_.store(tables_.back().get(), std::memory_order_release);
}

UserIndex::~UserIndex() = default;

bool UserIndex::HasId(const User& user, std::string_view id) {
  if (user.length != id.size() || user.removal.load(std::memory_order_acquire) != 0) return false;
  for (std::size_t i = 0; i < WordsOf(id.size()); ++i) {
    if (user.words[i].load(std::memory_order_relaxed) != WordAt(id, i)) return false;
  }
  return true;
}

int UserIndex::Find(std::string_view user) const {
  const std::uint64_t hash = HashOf(user);
  const Table& table = *table_.load(std::memory_order_acquire);
  for (std::size_t i = hash & table.mask;; i = (i + 1) & table.mask) {
    const User* found = table.slots[i].load(std::memory_order_acquire);
    if (found == nullptr) return -1;
    if (found->hash == hash && HasId(*found, user)) return found->node;
  }
}

UserIndex::User& UserIndex::At(int node) const {
  BANDANA_CHECK(node >= 0 && node < size());
  return chunks_[node / kChunkUsers].load(std::memory_order_acquire)[node % kChunkUsers];
}

UserIndex::User& UserIndex::Append() {
  const int node = size_.load(std::memory_order_relaxed);
  BANDANA_CHECK(node < kIndependentNodesMax);
  if (node % kChunkUsers == 0) {
    owned_.push_back(std::make_unique<User[]>(kChunkUsers));
    chunks_[node / kChunkUsers].store(owned_.back().get(), std::memory_order_release);
  }
  User& added = owned_.back()[node % kChunkUsers];
  added.node = node;
  return added;
}

int UserIndex::Add(std::string_view user) {
  if (const int node = Find(user); node >= 0) return node;
  BANDANA_CHECK(!user.empty() && user.size() <= kUserIdBytesMax);
  User& added = Append();
  added.hash = HashOf(user);
  added.length = static_cast<std::uint8_t>(user.size());
  added.words.reset(new std::atomic<std::uint64_t>[WordsOf(user.size())]);
  for (std::size_t i = 0; i < WordsOf(user.size()); ++i) {
    added.words[i].store(WordAt(user, i), std::memory_order_relaxed);
  }
  // At most half full: probes stay short and always end at an empty slot.
  if (static_cast<std::size_t>(added.node + 1) * 2 > tables_.back()->mask + 1) Grow();
  Insert(*tables_.back(), added);
  size_.store(added.node + 1, std::memory_order_release);
  return added.node;
}

int UserIndex::AddNobody() {
  User& added = Append();
  added.removal.store(removed_.fetch_add(1, std::memory_order_acq_rel) + 1,
                      std::memory_order_release);
  size_.store(added.node + 1, std::memory_order_release);
  return added.node;
}

void UserIndex::Remove(int node) {
  User& user = At(node);
  if (user.removal.load(std::memory_order_acquire) != 0) return;
  to_wipe_.push_back(node);
  user.removal.store(removed_.load(std::memory_order_acquire) + 1, std::memory_order_release);
  removed_.fetch_add(1, std::memory_order_acq_rel);
}

void UserIndex::Wipe() {
  for (const int node : to_wipe_) {
    User& user = At(node);
    for (std::size_t i = 0; i < WordsOf(user.length); ++i) {
      user.words[i].store(0, std::memory_order_relaxed);
    }
  }
  to_wipe_.clear();
}

std::string UserIndex::Name(int node, std::uint32_t removed) const {
  const User& user = At(node);
  const std::uint32_t removal = user.removal.load(std::memory_order_acquire);
  if (removal != 0 && removal <= removed) return "";
  std::string name(WordsOf(user.length) * kWord, '\0');
  for (std::size_t i = 0; i < WordsOf(user.length); ++i) {
    const std::uint64_t word = user.words[i].load(std::memory_order_relaxed);
    std::memcpy(name.data() + i * kWord, &word, kWord);
  }
  const bool wiped =
      removal != 0 && std::all_of(name.begin(), name.end(), [](char c) { return c == 0; });
  name.resize(wiped ? 0 : user.length);
  return name;
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
