// The kinds of fields; MakeField checks their parameters.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/text_map.h"
#include "common/features/field.h"

namespace bandana {

// Texts and their entries: an entry each, or hashed.
class Vocabulary {
 public:
  explicit Vocabulary(std::vector<std::string> values);  // not empty, each once
  explicit Vocabulary(int hash_bits);

  int size() const { return size_; }
  bool hashed() const { return bits_ > 0; }
  int bits() const { return bits_; }
  const std::vector<std::string>& values() const { return values_; }
  // kNone where a text is not among the values.
  static constexpr int kNone = -1;
  int EntryOf(std::string_view text) const;
  std::string EntryName(std::string_view field, int entry) const;

 private:
  int size_;
  int bits_ = 0;
  std::vector<std::string> values_;
  TextMap<int> entries_;
};

// A text as it stands, or a whole number in decimal digits. Nothing where a value is neither.
// `digits` holds the latter.
std::optional<std::string_view> TextOf(const NamedValue& value, std::string& digits);

class CategoricalField final : public FeatureField {
 public:
  CategoricalField(std::string name, Vocabulary values)
      : FeatureField(std::move(name), values.size()), values_(std::move(values)) {}
  Found Encode(const NamedValue& value, std::span<double> block) const override;
  std::string Constraint(Found found) const override;
  std::string EntryName(int entry) const override { return values_.EntryName(name(), entry); }

 private:
  Vocabulary values_;
};

class SetField final : public FeatureField {
 public:
  SetField(std::string name, Vocabulary values)
      : FeatureField(std::move(name), values.size()), values_(std::move(values)) {}
  Found Encode(const NamedValue& value, std::span<double> block) const override;
  std::string Constraint(Found found) const override;
  std::string EntryName(int entry) const override { return values_.EntryName(name(), entry); }

 private:
  Vocabulary values_;
};

class TextField final : public FeatureField {
 public:
  TextField(std::string name, int hash_bits, int ngrams)
      : FeatureField(std::move(name), 1 << hash_bits), words_(hash_bits), ngrams_(ngrams) {}
  Found Encode(const NamedValue& value, std::span<double> block) const override;
  std::string Constraint(Found found) const override;
  std::string EntryName(int entry) const override { return words_.EntryName(name(), entry); }

 private:
  Vocabulary words_;
  int ngrams_;
};

class NumericField final : public FeatureField {
 public:
  NumericField(std::string name, double low, double high, bool log)
      : FeatureField(std::move(name), 1), low_(low), high_(high), log_(log) {}
  Found Encode(const NamedValue& value, std::span<double> block) const override;
  std::string Constraint(Found found) const override;
  std::string EntryName(int) const override { return name(); }

 private:
  double low_;
  double high_;
  bool log_;
};

class CyclicField final : public FeatureField {
 public:
  CyclicField(std::string name, double period)
      : FeatureField(std::move(name), 2), period_(period) {}
  Found Encode(const NamedValue& value, std::span<double> block) const override;
  std::string Constraint(Found found) const override;
  std::string EntryName(int entry) const override;

 private:
  double period_;
};

class BooleanField final : public FeatureField {
 public:
  explicit BooleanField(std::string name) : FeatureField(std::move(name), 1) {}
  Found Encode(const NamedValue& value, std::span<double> block) const override;
  std::string Constraint(Found found) const override;
  std::string EntryName(int) const override { return name(); }
};

class VectorField final : public FeatureField {
 public:
  VectorField(std::string name, int dimension, double l2_max)
      : FeatureField(std::move(name), dimension), l2_max_(l2_max) {}
  Found Encode(const NamedValue& value, std::span<double> block) const override;
  std::string Constraint(Found found) const override;
  std::string EntryName(int entry) const override;

 private:
  double l2_max_;
};

}  // namespace bandana
