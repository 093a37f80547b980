// User ids of an independent model and their nodes: numbered in order of appearance, never removed.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace bandana {

// Threads: Find and size from any thread without a lock; Add and Name by one thread at a time
// (recovery, then the log's writer). Name also by the apply thread, for nodes whose entries it has
// read, and by threads that have such nodes from it. Invariants: 1. users 0 .. size() - 1 are set.
// 2. A slot once set never changes. 3. Tables that grew too small live as long as the index,
// because readers may still be in them: together no larger than the present one.
class UserIndex {
 public:
  UserIndex();
  ~UserIndex();
  UserIndex(const UserIndex&) = delete;
  UserIndex& operator=(const UserIndex&) = delete;

  // -1 when unknown.
  int Find(std::string_view user) const;
  // The node of the user, the next free one for a new user.
  int Add(std::string_view user);
  int size() const { return size_.load(std::memory_order_acquire); }
  // Requires 0 <= node < size().
  std::string_view Name(int node) const;

 private:
  struct User {
    std::string id;
    std::uint64_t hash;
    int node;
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

  static void Insert(Table& table, const User& user);
  void Grow();

  std::atomic<const Table*> table_;
  std::vector<std::unique_ptr<Table>> tables_;  // the last one is the present one
  std::unique_ptr<std::atomic<User*>[]> chunks_;
  std::vector<Chunk> owned_;
  std::atomic<int> size_{0};
};

}  // namespace bandana
