// The common part of families whose actions the server draws.
#pragma once

#include "common/base/status.h"
#include "common/design/family.h"

namespace bandana {

// One arm or play per token, drawn with the probability that the token says.
class DrawnFamily : public Family {
 public:
  bool FitsToken(std::size_t arms, double probability,
                 std::span<const double> features) const override;
  absl::Status CheckRankedByDevices(const ModelSpec& spec) const override;
  bool has_named_features() const override { return false; }

 protected:
  virtual bool FitsEvent(std::span<const double> features) const = 0;
};

}  // namespace bandana
