// FeatureField messages -> fields, with every mistake.
#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/text.h"
#include "common/features/fields.h"

namespace bandana {
namespace {

constexpr double kBoundAbsMax = 1e15;  // differences and their quotients stay exact enough
constexpr double kPeriodMax = 1e9;
constexpr double kVectorL2Max = 1e6;
constexpr std::uint32_t kVectorDimensionMax = 256;

// Mistakes below one field.
class Below {
 public:
  Below(const std::string& path, const SchemaErrors& errors) : path_(path), errors_(errors) {}
  void Add(std::string_view field, std::string message) {
    good_ = false;
    errors_(absl::StrCat(path_, kind_, field.empty() ? "" : ".", std::string(field)),
            std::move(message));
  }
  // Mistakes from now on are inside the field's kind.
  void Enter(std::string_view kind) { kind_ = absl::StrCat(".", std::string(kind)); }
  bool good() const { return good_; }

 private:
  const std::string& path_;
  const SchemaErrors& errors_;
  std::string kind_;
  bool good_ = true;
};

bool IsLegalName(std::string_view name) {
  return !name.empty() && name.size() <= kFeatureNameBytesMax &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
         });
}

int HashBits(std::uint32_t bits, Below& below) {
  if (bits < 1 || bits > kHashBitsMax) {
    below.Add("hash_bits", absl::StrCat("must be in [1, ", kHashBitsMax, "], got ", bits));
    return 1;
  }
  return static_cast<int>(bits);
}

void CheckValues(const std::vector<std::string>& values, Below& below) {
  if (values.size() > static_cast<std::size_t>(kFieldEntriesMax)) {
    below.Add("values", absl::StrCat("at most ", kFieldEntriesMax, " values, got ", values.size()));
  }
  std::set<std::string_view> known;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string& value = values[i];
    const std::string place = absl::StrCat("values[", i, "]");
    const bool control = std::any_of(value.begin(), value.end(), IsControl);
    if (value.empty() || value.size() > kFeatureValueBytesMax || control) {
      below.Add(place,
                absl::StrCat("must have 1 to ", kFeatureValueBytesMax,
                             " bytes and no control character, got ", value.size(), " bytes"));
    } else if (!known.insert(value).second) {
      below.Add(place, absl::StrCat("is there twice: ", QuotedText(value)));
    }
  }
}

Vocabulary MakeVocabulary(const std::vector<std::string>& values, std::uint32_t hash_bits,
                          Below& below) {
  if (values.empty()) return Vocabulary(HashBits(hash_bits, below));
  if (hash_bits != 0) below.Add("", "must have values or hash_bits, got both");
  CheckValues(values, below);
  return Vocabulary(values);
}

std::unique_ptr<FeatureField> MakeNumeric(const std::string& name, const wire::NumericField& field,
                                          Below& below) {
  const auto bound = [&](std::string_view which, double value) {
    if (std::abs(value) <= kBoundAbsMax) return;
    below.Add(which, absl::StrCat("must be a number in [", -kBoundAbsMax, ", ", kBoundAbsMax,
                                  "], got ", value));
  };
  bound("low", field.low);
  bound("high", field.high);
  if (!below.good()) return nullptr;
  if (!(field.low < field.high)) {
    below.Add("high", absl::StrCat("must be above low = ", field.low, ", got ", field.high));
  } else if (field.log && !(field.low > 0)) {
    below.Add("low", absl::StrCat("must be above 0 with log, got ", field.low));
  } else if (field.log && !(std::log(field.low) < std::log(field.high))) {
    below.Add("high", absl::StrCat("must have another logarithm than low = ", field.low));
  }
  return std::make_unique<NumericField>(name, field.low, field.high, field.log);
}

std::unique_ptr<FeatureField> MakeCyclic(const std::string& name, const wire::CyclicField& field,
                                         Below& below) {
  if (!(field.period > 0 && field.period <= kPeriodMax)) {
    below.Add("period", absl::StrCat("must be in (0, ", kPeriodMax, "], got ", field.period));
  }
  return std::make_unique<CyclicField>(name, field.period);
}

std::unique_ptr<FeatureField> MakeText(const std::string& name, const wire::TextField& field,
                                       Below& below) {
  if (field.ngrams > kNgramsMax) {
    below.Add("ngrams", absl::StrCat("must be in [1, ", kNgramsMax, "], got ", field.ngrams));
  }
  return std::make_unique<TextField>(name, HashBits(field.hash_bits, below),
                                     static_cast<int>(field.ngrams));
}

std::unique_ptr<FeatureField> MakeVector(const std::string& name, const wire::VectorField& field,
                                         Below& below) {
  if (field.dimension < 1 || field.dimension > kVectorDimensionMax) {
    below.Add("dimension",
              absl::StrCat("must be in [1, ", kVectorDimensionMax, "], got ", field.dimension));
    return nullptr;
  }
  const double l2_max = field.l2_max;
  if (!(l2_max > 0 && l2_max <= kVectorL2Max)) {
    below.Add("l2_max", absl::StrCat("must be in (0, ", kVectorL2Max, "], got ", l2_max));
  }
  return std::make_unique<VectorField>(name, static_cast<int>(field.dimension), l2_max);
}

}  // namespace

std::unique_ptr<FeatureField> MakeField(const wire::FeatureField& field, const std::string& path,
                                        const SchemaErrors& errors) {
  Below below(path, errors);
  if (!IsLegalName(field.name)) {
    below.Add("name", absl::StrCat("must be 1 to ", kFeatureNameBytesMax,
                                   " lower-case letters, digits, hyphens or underscores, got ",
                                   field.name.size(), " bytes"));
  }
  const std::string& name = field.name;
  std::unique_ptr<FeatureField> made;
  if (const auto* const categorical = std::get_if<wire::CategoricalField>(&field.kind)) {
    below.Enter("categorical");
    made = std::make_unique<CategoricalField>(
        name, MakeVocabulary(categorical->values, categorical->hash_bits, below));
  } else if (const auto* const numeric = std::get_if<wire::NumericField>(&field.kind)) {
    below.Enter("numeric");
    made = MakeNumeric(name, *numeric, below);
  } else if (const auto* const cyclic = std::get_if<wire::CyclicField>(&field.kind)) {
    below.Enter("cyclic");
    made = MakeCyclic(name, *cyclic, below);
  } else if (std::holds_alternative<wire::BooleanField>(field.kind)) {
    made = std::make_unique<BooleanField>(name);
  } else if (const auto* const set = std::get_if<wire::SetField>(&field.kind)) {
    below.Enter("set");
    made = std::make_unique<SetField>(name, MakeVocabulary(set->values, set->hash_bits, below));
  } else if (const auto* const text = std::get_if<wire::TextField>(&field.kind)) {
    below.Enter("text");
    made = MakeText(name, *text, below);
  } else if (const auto* const vector = std::get_if<wire::VectorField>(&field.kind)) {
    below.Enter("vector");
    made = MakeVector(name, *vector, below);
  } else {
    below.Add("", "must be one of categorical, numeric, cyclic, boolean, set, text or vector");
  }
  return below.good() ? std::move(made) : nullptr;
}

std::string QuotedText(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

}  // namespace bandana
