#include "common/features/schema_text.h"

#include <charconv>
#include <variant>

#include "absl/strings/str_cat.h"
#include "common/features/field.h"
#include "common/features/schema.h"

namespace bandana {
namespace {

std::string WordsText(const std::vector<std::string>& values, std::uint32_t hash_bits) {
  if (values.empty()) return absl::StrCat("hash_bits ", hash_bits);
  std::string text = "values";
  for (const std::string& value : values) absl::StrAppend(&text, " ", QuotedText(value));
  return text;
}

struct KindText {
  std::string operator()(const std::monostate&) const { return ""; }
  std::string operator()(const wire::CategoricalField& field) const {
    return "categorical " + WordsText(field.values, field.hash_bits);
  }
  std::string operator()(const wire::NumericField& field) const {
    return absl::StrCat("numeric ", ExactNumber(field.low), " ", ExactNumber(field.high),
                        field.log ? " log" : " linear");
  }
  std::string operator()(const wire::CyclicField& field) const {
    return "cyclic " + ExactNumber(field.period);
  }
  std::string operator()(const wire::BooleanField&) const { return "boolean"; }
  std::string operator()(const wire::SetField& field) const {
    return "set " + WordsText(field.values, field.hash_bits);
  }
  std::string operator()(const wire::TextField& field) const {
    return absl::StrCat("text hash_bits ", field.hash_bits, " ngrams ", field.ngrams);
  }
  std::string operator()(const wire::VectorField& field) const {
    return absl::StrCat("vector ", field.dimension, " ", ExactNumber(field.l2_max));
  }
};

std::string FieldText(const wire::FeatureField& field) {
  return absl::StrCat(field.name, " ", std::visit(KindText(), field.kind));
}

}  // namespace

std::string ExactNumber(double value) {
  char text[32];
  const auto end =
      std::to_chars(text, text + sizeof text, value + 0.0, std::chars_format::general, 17);
  return std::string(text, end.ptr);
}

std::vector<std::string> SchemaLines(const wire::FeatureSchema& schema) {
  std::vector<std::string> lines;
  if (schema.bias) lines.emplace_back("bias");
  for (const auto& field : schema.context) lines.push_back("context=" + FieldText(field));
  for (const auto& field : schema.arm) lines.push_back("arm=" + FieldText(field));
  for (const auto& cross : schema.crosses) {
    lines.push_back(absl::StrCat("cross=", cross.a, " ", cross.b));
  }
  return lines;
}

std::string FeatureSchema::Text() const {
  std::string text = "features=1\n";
  for (const std::string& line : SchemaLines(message_)) {
    absl::StrAppend(&text, "feature_", line, "\n");
  }
  return text;
}

}  // namespace bandana
