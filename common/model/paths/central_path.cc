#include "common/model/paths/central_path.h"

#include "common/base/status.h"
#include "common/model/state/model_state.h"

namespace bandana {

absl::StatusOr<std::optional<CellKey>> CentralPath::MakeCellKey() const {
  BANDANA_ASSIGN_OR_RETURN(const CellKey key, noise_.MakeCellKey());
  return std::optional(key);
}

NoiseOrigin CentralPath::OriginOf(const Applying& to) const {
  return noise_.At(to.state.epoch, to.position.hash);
}

}  // namespace bandana
