// User ids of an independent model and their nodes, numbered in order of appearance. Users may be
// removed; their nodes are not used again.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace bandana {

// Threads: Find, size, removed and Name from any thread without a lock; Add and AddNobody by one
// thread at a time (recovery, then the log's writer). Remove and Wipe by one thread at a time, also
// beside Add. Invariants: 1. users 0 .. size() - 1 are set. 2. A slot once
// set never changes: a removed user stays in it, and nobody finds it there. 3. Tables that grew too
// small live as long as the index, because readers may still be in them: together no larger than
// the present one.
class UserIndex {
 public:
  UserIndex();
  ~UserIndex();
  UserIndex(const UserIndex&) = delete;
  UserIndex& operator=(const UserIndex&) = delete;

  // -1 when unknown or removed.
  int Find(std::string_view user) const;
  // The node of the user, the next free one for a new user. Requires 1 to kUserIdBytesMax bytes.
  int Add(std::string_view user);
  // The node of a user who was removed before: nobody finds it.
  int AddNobody();
  // From a checkpoint: an id, or "" for nobody.
  int Restore(std::string_view user) { return user.empty() ? AddNobody() : Add(user); }
  int size() const { return size_.load(std::memory_order_acquire); }

  // Find gives -1 from now on, and a user with this id would be a new one. The id itself stays
  // until Wipe, for readers of an earlier state. Requires 0 <= node < size().
  void Remove(int node);
  // Overwrites the ids of all who are removed.
  void Wipe();
  // How many removals there were: a moment that Name can be asked of.
  std::uint32_t removed() const { return removed_.load(std::memory_order_acquire); }
  // "" when the user was among the first `removed` ones who were removed, or is wiped. Requires
  // 0 <= node < size().
  std::string Name(int node,
                   std::uint32_t removed = std::numeric_limits<std::uint32_t>::max()) const;

 private:
  // The id in words, the last one padded with zeros: they are overwritten while others read.
  struct User {
    std::unique_ptr<std::atomic<std::uint64_t>[]> words;
    std::uint64_t hash = 0;
    int node = 0;
    std::uint8_t length = 0;
    std::atomic<std::uint32_t> removal = 0;  // which one of all it was; 0: none
  };
  using Slot = std::atomic<const User*>;
  struct Table {
    explicit Table(std::size_t slots) : mask(slots - 1), slots(new Slot[slots]()) {}
    std::size_t mask;
    std::unique_ptr<Slot[]> slots;
  };
  // Users by node in chunks that never move.
  static constexpr int kChunkUsers = 4096;
  using Chunk = std::unique_ptr<User[]>;

  static bool HasId(const User& user, std::string_view id);
  static void Insert(Table& table, const User& user);
  User& At(int node) const;
  User& Append();
  void Grow();

  std::atomic<const Table*> table_;
  std::vector<std::unique_ptr<Table>> tables_;  // the last one is the present one
  std::unique_ptr<std::atomic<User*>[]> chunks_;
  std::vector<Chunk> owned_;
  std::atomic<int> size_{0};
  std::atomic<std::uint32_t> removed_{0};
  std::vector<int> to_wipe_;
};

}  // namespace bandana
