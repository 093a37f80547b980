// The arms' own shares of their scores, as the server told them of a fixed block of arms.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/core/selection/posterior_message.h"
#include "common/ranking/posterior.h"

namespace bandana::device {

// Immutable. Threads: safe.
class ArmEffects {
 public:
  // A million arms take 12 MB.
  static constexpr std::size_t kArmsMax = 1'000'000;

  // The version of the first page: what is newer may be in the block, and is asked for again.
  std::uint64_t version() const { return version_; }
  std::size_t size() const { return ids_.size(); }
  // Nothing of an arm without id: the server adds nothing to it either. An arm that the block does
  // not tell of has what the server believes of arms without events.
  ArmShare ShareOf(std::uint32_t id) const;

 private:
  friend class ArmEffectsPages;
  std::uint64_t version_ = 0;
  ArmShare unknown_;
  std::vector<std::uint32_t> ids_;  // ascending
  std::vector<float> means_, variances_;
};

// Joins the answers to GetArmEffects, page after page. Not thread-safe.
class ArmEffectsPages {
 public:
  // Adds a page. Returns the next page to ask for; 0 when there is no further one. Errors: INTERNAL
  // wrong shapes, ids that do not ascend, too many, not finite, a variance below 0.
  absl::StatusOr<std::uint64_t> Add(const ArmEffectsPage& page);
  // Once, after the last page.
  std::shared_ptr<const ArmEffects> Take() { return std::move(block_); }

 private:
  std::shared_ptr<ArmEffects> block_;
};

}  // namespace bandana::device
