// GetPosterior and GetArmEffects as bytes, coded by hand.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace bandana::device {

// v1.GetPosteriorRequest. `user`: none where contexts are private. 0: any version is newer.
std::string PosteriorRequestBytes(std::string_view model, std::string_view user,
                                  std::uint64_t if_newer_than);

// v1.GetPosteriorResponse of one user.
struct PosteriorResponse {
  bool not_modified = false;
  std::uint64_t version = 0;
  std::vector<double> means, covariances, alphas;
  double constant_mean = 0;
  double constant_variance = 0;
};
// Errors: INTERNAL the bytes are no message.
absl::StatusOr<PosteriorResponse> ReadPosteriorResponse(std::string_view bytes);

// v1.GetArmEffectsRequest.
std::string ArmEffectsRequestBytes(std::string_view model, std::string_view tag,
                                   std::uint64_t if_newer_than, std::uint64_t first_arm);

// v1.GetArmEffectsResponse.
struct ArmEffectsPage {
  bool not_modified = false;
  std::uint64_t version = 0;
  std::vector<std::uint32_t> ids;
  std::vector<float> means, variances;
  std::uint64_t next_arm = 0;
  double unknown_mean = 0;
  double unknown_variance = 0;
};
// Errors: INTERNAL the bytes are no message.
absl::StatusOr<ArmEffectsPage> ReadArmEffectsPage(std::string_view bytes);
// One page's bytes from those of all pages, one after the other: lists go on, and the version is
// that of the first.
std::string JoinArmEffectsPages(std::string_view pages, std::uint64_t first_version);

}  // namespace bandana::device
