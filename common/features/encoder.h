// Named values -> feature vectors. The one implementation, of server, device and tools.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "common/features/schema.h"
#include "common/features/value_log.h"

namespace bandana {

// A context, ready to be joined with arms. Reused between requests.
struct EncodedContext {
  struct Entry {
    int index = 0;  // in the field's block
    double value = 0;
  };
  // d entries; scaled; zero but for context fields and crosses of two of them.
  std::vector<double> x;
  std::vector<Entry> entries;    // of all context fields, those that are not 0, not scaled
  std::vector<std::size_t> end;  // by context field: where its entries end

  std::span<const Entry> of(int field) const {
    const std::size_t begin = field == 0 ? 0 : end[static_cast<std::size_t>(field) - 1];
    return std::span(entries).subspan(begin, end[static_cast<std::size_t>(field)] - begin);
  }
};

// Values of the context fields; a missing one has a zero block. Errors: those of ValueLog, which
// must have begun.
absl::Status EncodeContext(const FeatureSchema& schema, const NamedValues& values,
                           const ValuePath& path, ValueLog& log, EncodedContext& context);
// An arm by itself: bias, arm fields, and crosses of two of them; the rest of the `row` of d
// entries is zero. Errors: as above.
absl::Status EncodeArm(const FeatureSchema& schema, const NamedValues& values,
                       const ValuePath& path, ValueLog& log, std::span<double> row);
// x = the vector of an arm in a context, both d entries. `row`: of EncodeArm, or one for which
// CheckArmRow is OK.
void Join(const FeatureSchema& schema, const EncodedContext& context, std::span<const double> row,
          std::span<double> x);

// x of Join is a linear map of the row where the schema has a bias, which is the same in every row:
// by entry of the row, the entries of x that it goes into, and times what. Requires a bias.
struct ContextTerm {
  int entry = 0;  // of x
  double factor = 0;
};
std::vector<std::vector<ContextTerm>> ContextTerms(const FeatureSchema& schema,
                                                   const EncodedContext& context);

// Whether a vector could be an arm's by itself, but for rounding: bias as it is, nothing of a
// context, and no block longer than EncodeArm makes it. Errors: INVALID_ARGUMENT naming the block.
absl::Status CheckArmRow(const FeatureSchema& schema, std::span<const double> row);

}  // namespace bandana
