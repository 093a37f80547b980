// v1.SelectRequest and v1.SelectResponse as bytes, coded by hand.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "bandana/client.h"

namespace bandana::device {

// A request, and the facts that its answer must fit.
struct SelectRequest {
  std::string bytes;               // without the policy's hash and what comes after it
  std::string rules;               // v1.SelectionRules
  bool is_point = false;           // no arms
  std::int64_t arms = 0;           // on offer; of a query, which says no number, 2^31
  bool has_ids = false;            // arms of the catalogue
  std::vector<std::string> names;  // of named arms
  std::uint32_t top_k = 0;
  std::uint32_t slots = 0;

  // The message, under this policy.
  std::string Under(std::string_view policy_hash) const;
};

// Errors: INVALID_ARGUMENT the id is empty, too long or no UTF-8.
absl::Status CheckUser(std::string_view user);

// Errors: INVALID_ARGUMENT user, ranks, shape. Texts give shapes only.
absl::StatusOr<SelectRequest> MakeSelectRequest(const std::string& model, int dimension,
                                                std::string_view user, const Arms& arms,
                                                const Ranks& ranks, bool deferred = false);
// As above for `slots` arms that are shown at once, each a decision of its own.
absl::StatusOr<SelectRequest> MakeSlotsRequest(const std::string& model, int dimension,
                                               std::string_view user, const Arms& arms, int slots);
// The request for a point has no arms. Errors: INVALID_ARGUMENT user.
absl::StatusOr<SelectRequest> MakePointRequest(const std::string& model, std::string_view user);

// Errors: INVALID_ARGUMENT the number of named arms, or their ids.
absl::Status CheckNamedArms(std::span<const NamedArm> arms);

struct SelectResponse {
  std::vector<std::uint32_t> positions;
  std::vector<std::uint32_t> arm_ids;
  std::vector<double> scores, means, widths, propensities;
  std::string token;
  std::uint64_t posterior_version = 0;
  std::vector<double> reward_windows;
  std::vector<double> point;
  std::vector<std::string> arm_names;
  std::vector<std::string> slot_tokens;
  std::vector<std::string> notes;
};
// Errors: INTERNAL the bytes are no message.
absl::StatusOr<SelectResponse> ReadSelectResponse(std::string_view bytes);

}  // namespace bandana::device
