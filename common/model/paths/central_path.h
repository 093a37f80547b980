// Paths of models whose server sees raw values and draws their noise from its key.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "common/model/paths/intake.h"
#include "common/model/state/keyed_noise.h"

namespace bandana {

class CentralPath : public SeenPath {
 public:
  bool draws_noise() const final { return true; }
  absl::Status BeforeShown(absl::FunctionRef<absl::Status()> persist) const final {
    return persist();
  }
  absl::StatusOr<std::optional<CellKey>> MakeCellKey() const final;
  absl::StatusOr<std::string> KeyFingerprint() const final { return noise_.Fingerprint(); }

 protected:
  CentralPath(PathFacts facts, const EventIntake& intake, KeyedNoise noise)
      : SeenPath(std::move(facts), intake), noise_(std::move(noise)) {}

  // The address of what the entry releases.
  NoiseOrigin OriginOf(const Applying& to) const;
  const NoiseBinding& binding() const { return noise_.binding(); }

 private:
  const KeyedNoise noise_;
};

}  // namespace bandana
