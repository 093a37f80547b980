#include <utility>

#include "common/base/status.h"
#include "research/compact/compact_linucb.h"
#include "research/lab/neurips18/policy.h"

namespace bandana::lab {
namespace {

class NonPrivate final : public RoundPolicy {
 public:
  explicit NonPrivate(CompactLinUcb model) : model_(std::move(model)) {}

  absl::StatusOr<int> Choose(const float* x, std::size_t stride, int arms) override {
    return model_.Select(x, stride, arms);
  }
  absl::Status Learn(std::span<const double> x, double reward) override {
    model_.Learn(x, reward);
    return absl::OkStatus();
  }
  std::string mechanism() const override { return "none"; }

 private:
  CompactLinUcb model_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<RoundPolicy>> MakeNonPrivate(const PolicyOptions& options) {
  BANDANA_ASSIGN_OR_RETURN(
      CompactLinUcb model,
      CompactLinUcb::Create({.dimension = options.dimension,
                             .prior_variance = options.prior_stddev * options.prior_stddev,
                             .alpha = options.alpha}));
  return std::make_unique<NonPrivate>(std::move(model));
}

}  // namespace bandana::lab
