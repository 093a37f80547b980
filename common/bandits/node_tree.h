// An array of shared immutable objects whose copies are cheap.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "common/base/half_pace.h"

namespace bandana {

// Objects by node, below nodes of a tree that copies share. A node that a copy may share is copied
// before it changes: to set one object after Share costs some 50 pointers, not one per 64 objects.
// (That many counts of shared pointers, each in a cache line of its own, took 1 ms at a million
// users.) Objects that were never set take nothing where 16 in a row are so. Threads: not
// thread-safe, but copies are independent of each other: each may be read or changed by a thread of
// its own.
template <typename T>
class NodeTree {
 public:
  NodeTree() : edition_(NewEdition()) {}
  NodeTree(NodeTree&&) noexcept = default;
  NodeTree& operator=(NodeTree&&) noexcept = default;

  // The object of node `node`; nullptr for nothing, also beyond all that was set.
  const T* at(std::size_t node) const {
    if (node / kBranchNodes >= branches_.size()) return nullptr;
    const auto& branch = branches_[node / kBranchNodes];
    if (branch == nullptr) return nullptr;
    const auto& twig = branch->at[node / kTwigNodes % kFan];
    if (twig == nullptr) return nullptr;
    const auto& leaf = twig->at[node / kFan % kFan];
    return leaf == nullptr ? nullptr : leaf->at[node % kFan].get();
  }

  void Set(std::size_t node, std::shared_ptr<const T> value) {
    const std::size_t branch = node / kBranchNodes;
    if (branch >= branches_.size()) branches_.resize(branch + 1);
    Twig& twig = Own(Own(branches_[branch]).at[node / kTwigNodes % kFan]);
    Own(twig.at[node / kFan % kFan]).at[node % kFan] = std::move(value);
  }

  void Clear() { *this = NodeTree(); }

  // Lets go of everything, at half pace: freed at once, a million objects that nobody else has keep
  // whoever allocates waiting for the allocator's lock, tens of milliseconds at a time.
  void ClearSlowly() {
    for (auto& branch : branches_) AtHalfPace([&branch] { branch.reset(); });
    branches_.clear();
  }

  // A tree with the same objects. Cost: a pointer for each 4096 of them.
  NodeTree Share() {
    NodeTree copy;
    copy.branches_ = branches_;
    edition_ = NewEdition();  // neither may change what both have
    return copy;
  }

 private:
  static constexpr std::size_t kFan = 16;
  static constexpr std::size_t kTwigNodes = kFan * kFan;
  static constexpr std::size_t kBranchNodes = kFan * kTwigNodes;
  template <typename Child>
  struct Part {
    std::uint64_t edition = 0;  // the tree that may change it
    std::array<std::shared_ptr<Child>, kFan> at;
  };
  using Leaf = Part<const T>;
  using Twig = Part<Leaf>;
  using Branch = Part<Twig>;

  static std::uint64_t NewEdition() {
    static std::atomic<std::uint64_t> last{0};
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
  }

  // The part in this slot, made or copied unless it is this tree's alone.
  template <typename P>
  P& Own(std::shared_ptr<P>& slot) {
    if (slot == nullptr || slot->edition != edition_) {
      slot = slot == nullptr ? std::make_shared<P>() : std::make_shared<P>(*slot);
      slot->edition = edition_;
    }
    return *slot;
  }

  std::uint64_t edition_;
  std::vector<std::shared_ptr<Branch>> branches_;
};

}  // namespace bandana
