// Fields of texts: categorical, set, text.
#include <algorithm>
#include <array>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/features/feature_hash.h"
#include "common/features/fields.h"

namespace bandana {
namespace {

constexpr double kWholeMax = 9007199254740992;  // 2^53: doubles above skip whole numbers

bool IsWordByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || static_cast<unsigned char>(c) >= 0x80;
}

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Scales to unit length; zeros stay. Entries are counts.
void Normalize(std::span<double> block) {
  double sum = 0;
  for (const double v : block) sum += v * v;
  if (sum == 0) return;
  const double scale = 1 / std::sqrt(sum);
  for (double& v : block) v *= scale;
}

// The words seen last, for n-grams: they end where the next one does.
class Ngrams {
 public:
  Ngrams(int most, const Vocabulary& words, std::span<double> block)
      : most_(static_cast<std::size_t>(most)), words_(words), block_(block) {}

  void Byte(char c) { text_.push_back(c); }
  void EndWord() {
    if (text_.size() == begin_.back()) return;
    for (const std::size_t begin : begin_) {
      block_[static_cast<std::size_t>(words_.EntryOf(std::string_view(text_).substr(begin)))] += 1;
    }
    text_.push_back(' ');
    begin_.push_back(text_.size());
    if (begin_.size() > most_) begin_.erase(begin_.begin());
  }

 private:
  std::size_t most_;
  const Vocabulary& words_;
  std::span<double> block_;
  std::string text_;                   // words with a space after each
  std::vector<std::size_t> begin_{0};  // of the last words, and of the one that is read
};

}  // namespace

Vocabulary::Vocabulary(std::vector<std::string> values)
    : size_(static_cast<int>(values.size())), values_(std::move(values)) {
  for (int i = 0; i < size_; ++i) entries_.emplace(values_[static_cast<std::size_t>(i)], i);
}

Vocabulary::Vocabulary(int hash_bits) : size_(1 << hash_bits), bits_(hash_bits) {}

int Vocabulary::EntryOf(std::string_view text) const {
  if (hashed()) return HashedEntry(text, bits_);
  const auto known = entries_.find(text);
  return known == entries_.end() ? kNone : known->second;
}

std::string Vocabulary::EntryName(std::string_view field, int entry) const {
  if (hashed()) return absl::StrCat(ToAbsl(field), "#", entry);
  return absl::StrCat(ToAbsl(field), "=", values_[static_cast<std::size_t>(entry)]);
}

std::optional<std::string_view> TextOf(const NamedValue& value, std::string& digits) {
  if (value.kind == NamedValue::Kind::kText) return value.text;
  if (value.kind != NamedValue::Kind::kNumber) return std::nullopt;
  const double number = value.number;
  if (!(std::abs(number) <= kWholeMax) || number != std::trunc(number)) return std::nullopt;
  digits = absl::StrCat(static_cast<std::int64_t>(number));
  return digits;
}

Found CategoricalField::Encode(const NamedValue& value, std::span<double> block) const {
  std::string digits;
  const std::optional<std::string_view> text = TextOf(value, digits);
  if (!text) return Found::kWrong;
  const int entry = values_.EntryOf(*text);
  if (entry == Vocabulary::kNone) return Found::kUnknown;
  block[static_cast<std::size_t>(entry)] = 1;
  return Found::kValue;
}

std::string CategoricalField::Constraint(Found found) const {
  return found == Found::kUnknown ? "must be a value of the schema"
                                  : "must be a text or a whole number";
}

Found SetField::Encode(const NamedValue& value, std::span<double> block) const {
  if (value.kind != NamedValue::Kind::kList) return Found::kWrong;
  Found found = Found::kValue;
  std::string digits;
  for (const NamedValue& element : value.list) {
    const std::optional<std::string_view> text = TextOf(element, digits);
    if (!text) return Found::kWrong;
    const int entry = values_.EntryOf(*text);
    if (entry == Vocabulary::kNone) {
      found = Found::kUnknown;
    } else {
      block[static_cast<std::size_t>(entry)] = 1;
    }
  }
  Normalize(block);
  return found;
}

std::string SetField::Constraint(Found found) const {
  return found == Found::kUnknown ? "must have values of the schema only"
                                  : "must be a list of texts or whole numbers";
}

Found TextField::Encode(const NamedValue& value, std::span<double> block) const {
  if (value.kind != NamedValue::Kind::kText) return Found::kWrong;
  Ngrams ngrams(ngrams_, words_, block);
  for (const char byte : value.text) {
    const char c = Lower(byte);
    if (IsWordByte(c)) {
      ngrams.Byte(c);
    } else {
      ngrams.EndWord();
    }
  }
  ngrams.EndWord();
  Normalize(block);
  return Found::kValue;
}

std::string TextField::Constraint(Found) const { return "must be a text"; }

}  // namespace bandana
