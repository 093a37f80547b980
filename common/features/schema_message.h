// A schema as its message has it (proto/bandana/v1/features.proto), unchecked and without protobuf.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace bandana::wire {

struct CategoricalField {
  std::vector<std::string> values;
  std::uint32_t hash_bits = 0;
};
struct NumericField {
  double low = 0;
  double high = 0;
  bool log = false;
};
struct CyclicField {
  double period = 0;
};
struct BooleanField {};
struct SetField {
  std::vector<std::string> values;
  std::uint32_t hash_bits = 0;
};
struct TextField {
  std::uint32_t hash_bits = 0;
  std::uint32_t ngrams = 0;
};
struct VectorField {
  std::uint32_t dimension = 0;
  double l2_max = 0;
};

struct FeatureField {
  // In the order of their numbers, which begin at 2.
  using Kind = std::variant<std::monostate, CategoricalField, NumericField, CyclicField,
                            BooleanField, SetField, TextField, VectorField>;
  std::string name;
  Kind kind;
};

struct FeatureCross {
  std::string a;
  std::string b;
};

struct FeatureSchema {
  bool bias = false;
  std::vector<FeatureField> context;
  std::vector<FeatureField> arm;
  std::vector<FeatureCross> crosses;
};

// Merges the bytes of a message, as protobuf does. False: they are none.
bool Merge(std::string_view bytes, FeatureSchema& schema);
// The message's bytes. protobuf may write others of the same meaning.
std::string BytesOf(const FeatureSchema& schema);

}  // namespace bandana::wire
