// The meaning of a feature vector's entries: fields of the context and of arms, and crosses
// (docs/design/features.md).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/text_map.h"
#include "common/features/field.h"

namespace bandana {

// A place in the vector: bias, a field, or a cross.
struct FeatureBlock {
  enum class Part { kBias, kContext, kArm, kCross };
  Part part = Part::kBias;
  std::string name;  // "bias", the field's name, or "a x b"
  int begin = 0;     // first entry
  int size = 0;      // entries, at least 1
};

// The outer product of two fields' blocks: entry i * size(b) + j is a_i b_j.
struct CrossPlace {
  int a = 0;  // positions in fields()
  int b = 0;
  int begin = 0;
};

// Immutable. Threads: safe.
//
// |x| <= feature_l2_max holds for every vector that is made by a schema: of n blocks each is at
// most of unit length and is scaled by feature_l2_max / sqrt(n), less 2^-36 of it for rounding.
class FeatureSchema {
 public:
  // Unset numbers take their defaults. Errors: each is added, and nullptr is returned. Requires
  // l2_max in (0, 1e6]. `dimension_max`: of the models that it is for.
  static std::shared_ptr<const FeatureSchema> Make(const wire::FeatureSchema& schema, double l2_max,
                                                   int dimension_max, const SchemaErrors& errors);

  int dimension() const { return dimension_; }
  double l2_max() const { return l2_max_; }
  double scale() const { return scale_; }  // of every block
  const std::vector<FeatureBlock>& blocks() const { return blocks_; }
  bool has_bias() const { return has_bias_; }

  // Context fields, then arm fields.
  const std::vector<std::unique_ptr<FeatureField>>& fields() const { return fields_; }
  int context_fields() const { return context_fields_; }
  bool IsContext(int field) const { return field < context_fields_; }
  int begin(int field) const { return begins_[static_cast<std::size_t>(field)]; }
  // -1: no field of the schema.
  int FieldOf(std::string_view name) const;
  const std::vector<CrossPlace>& crosses() const { return crosses_; }
  // Whether its value is the context's alone.
  bool IsOfContext(const CrossPlace& cross) const {
    return IsContext(cross.a) && IsContext(cross.b);
  }
  bool IsOfArm(const CrossPlace& cross) const { return !IsContext(cross.a) && !IsContext(cross.b); }

  // "device=ios x tags#3"; entry in [0, dimension()).
  std::string EntryName(int entry) const;

  // The canonical text, a line for each block: part of the policy hash (docs/formats.md).
  std::string Text() const;
  // With every default filled in.
  const wire::FeatureSchema& message() const { return message_; }

 private:
  FeatureSchema() = default;
  void AddFields(const SchemaErrors& errors);
  void AddCrosses(const SchemaErrors& errors);
  void Place(FeatureBlock block);

  wire::FeatureSchema message_;
  int dimension_ = 0;
  double l2_max_ = 1;
  double scale_ = 1;
  bool has_bias_ = false;
  int context_fields_ = 0;
  std::vector<std::unique_ptr<FeatureField>> fields_;
  std::vector<int> begins_;  // by field
  TextMap<int> by_name_;
  std::vector<CrossPlace> crosses_;
  std::vector<FeatureBlock> blocks_;
};

// Which part of a vector's meaning differs, in words: "changes what entry 7 means: ...". `before`
// and `after`: IdentityText of two schemas, or "" for none. "": nothing differs.
std::string SchemaChange(std::string_view before, std::string_view after);
// The canonical text with the bound that it is scaled to, in one line.
std::string IdentityText(const FeatureSchema& schema);

}  // namespace bandana
