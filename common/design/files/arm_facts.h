// Public facts of a catalogue's arm that the rules of a request ask for (docs/design/rules.md):
// numbers with names, and the times between which the arm is on offer.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bandana/v1/admin.pb.h"
#include "common/base/bytes.h"

namespace bandana {

struct ArmFacts {
  std::map<std::string, double> fields;              // finite
  absl::Time available_from = absl::InfinitePast();  // whole milliseconds, or no bound
  absl::Time available_to = absl::InfiniteFuture();  // after available_from
  bool any() const { return *this != ArmFacts(); }
  bool operator==(const ArmFacts&) const = default;
};

// Errors: INVALID_ARGUMENT more than kFieldsPerArmMax fields, a field's name that is none (as those
// of groups are, CheckGroupName), a number that is not finite, an arm that is never available.
absl::Status CheckFacts(const ArmFacts& facts);

// Number of fields u8; of each its name as a block and its number f64; the two times in
// milliseconds since 1970, i64, the least and the greatest one for no bound.
void EncodeFacts(const ArmFacts& facts, ByteWriter& out);
ArmFacts DecodeFacts(ByteReader& in);

// Columns of arms.tsv: NAME=NUMBER separated by commas, or `-` for none; and FROM/TO, each a time
// as in RFC 3339 or nothing. Errors: INVALID_ARGUMENT.
absl::Status ParseFields(std::string_view text, ArmFacts& facts);
absl::Status ParseAvailability(std::string_view text, ArmFacts& facts);
// Texts that these read; "-" for no fields, "" for no bounds.
std::string FieldsText(const ArmFacts& facts);
std::string AvailabilityText(const ArmFacts& facts);

// Errors: INVALID_ARGUMENT a time that is none. Times are cut to milliseconds.
absl::StatusOr<ArmFacts> FactsOf(const v1::Arm& arm);
void FillFacts(const ArmFacts& facts, v1::Arm& arm);

}  // namespace bandana
