#include "common/features/schema.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"

namespace bandana {
namespace {

// Far more than rounding can add to the norm of a vector of 4096 entries.
constexpr double kRounding = 1 - 0x1p-36;

std::string SizeWords(const std::vector<FeatureBlock>& blocks) {
  std::vector<const FeatureBlock*> left;
  left.reserve(blocks.size());
  for (const FeatureBlock& block : blocks) left.push_back(&block);
  constexpr int kShown = 3;
  std::string words;
  for (int i = 0; i < kShown && !left.empty(); ++i) {
    const auto largest = std::max_element(
        left.begin(), left.end(), [](const auto* a, const auto* b) { return a->size < b->size; });
    absl::StrAppend(&words, i == 0 ? "" : ", ", (*largest)->name, " ", (*largest)->size);
    left.erase(largest);
  }
  return left.empty() ? words : words + ", ..";
}

void FillDefaults(wire::FeatureField& field) {
  if (auto* const text = std::get_if<wire::TextField>(&field.kind)) {
    if (text->ngrams == 0) text->ngrams = 1;
  }
  if (auto* const vector = std::get_if<wire::VectorField>(&field.kind)) {
    if (vector->l2_max == 0) vector->l2_max = 1;
  }
  if (auto* const numeric = std::get_if<wire::NumericField>(&field.kind)) {
    // The text has no -0.
    numeric->low += 0.0;
    numeric->high += 0.0;
  }
}

}  // namespace

void FeatureSchema::Place(FeatureBlock block) {
  block.begin = dimension_;
  // Far above every limit, far below an overflow.
  dimension_ = static_cast<int>(
      std::min<std::int64_t>(std::int64_t{dimension_} + block.size, std::int64_t{1} << 30));
  blocks_.push_back(std::move(block));
}

void FeatureSchema::AddFields(const SchemaErrors& errors) {
  const auto add = [&](const wire::FeatureField& message, const std::string& path,
                       FeatureBlock::Part part) {
    std::unique_ptr<FeatureField> field = MakeField(message, path, errors);
    if (field == nullptr) return;
    if (!by_name_.emplace(field->name(), static_cast<int>(fields_.size())).second ||
        field->name() == "bias") {
      errors(path + ".name",
             absl::StrCat("must be one that no other field has, got ", field->name()));
      return;
    }
    begins_.push_back(dimension_);
    Place({.part = part, .name = field->name(), .begin = 0, .size = field->size()});
    fields_.push_back(std::move(field));
  };
  for (std::size_t i = 0; i < message_.context.size(); ++i) {
    add(message_.context[i], absl::StrCat("context[", i, "]"), FeatureBlock::Part::kContext);
  }
  context_fields_ = static_cast<int>(fields_.size());
  for (std::size_t i = 0; i < message_.arm.size(); ++i) {
    add(message_.arm[i], absl::StrCat("arm[", i, "]"), FeatureBlock::Part::kArm);
  }
}

void FeatureSchema::AddCrosses(const SchemaErrors& errors) {
  std::vector<std::pair<int, int>> known;
  for (std::size_t i = 0; i < message_.crosses.size(); ++i) {
    const wire::FeatureCross& cross = message_.crosses[i];
    const std::string path = absl::StrCat("crosses[", i, "]");
    const int a = FieldOf(cross.a);
    const int b = FieldOf(cross.b);
    if (a < 0) errors(path + ".a", absl::StrCat("no field has the name ", QuotedText(cross.a)));
    if (b < 0) errors(path + ".b", absl::StrCat("no field has the name ", QuotedText(cross.b)));
    if (a < 0 || b < 0) continue;
    const auto pair = std::minmax(a, b);
    if (a == b) {
      errors(path, "must be of two different fields");
      continue;
    }
    if (std::find(known.begin(), known.end(), std::pair<int, int>(pair)) != known.end()) {
      errors(path, "is there twice");
      continue;
    }
    known.emplace_back(pair);
    const std::int64_t size = std::int64_t{fields_[static_cast<std::size_t>(a)]->size()} *
                              fields_[static_cast<std::size_t>(b)]->size();
    crosses_.push_back({.a = a, .b = b, .begin = dimension_});
    Place({.part = FeatureBlock::Part::kCross,
           .name = absl::StrCat(cross.a, " x ", cross.b),
           .begin = 0,
           .size = static_cast<int>(size)});
  }
}

std::shared_ptr<const FeatureSchema> FeatureSchema::Make(const wire::FeatureSchema& schema,
                                                         double l2_max, int dimension_max,
                                                         const SchemaErrors& errors) {
  bool good = true;
  const SchemaErrors note = [&](std::string_view field, std::string message) {
    good = false;
    errors(field, std::move(message));
  };
  // Not make_shared: the constructor is private.
  std::shared_ptr<FeatureSchema> made(new FeatureSchema);
  made->message_ = schema;
  for (auto* const fields : {&made->message_.context, &made->message_.arm}) {
    for (wire::FeatureField& field : *fields) FillDefaults(field);
  }
  made->l2_max_ = l2_max;
  made->has_bias_ = schema.bias;
  if (schema.bias) {
    made->Place({.part = FeatureBlock::Part::kBias, .name = "bias", .begin = 0, .size = 1});
  }
  made->AddFields(note);
  if (good) made->AddCrosses(note);
  if (!good) return nullptr;
  if (made->blocks_.empty()) {
    note("", "must have a bias or at least one field");
  } else if (made->dimension_ > dimension_max) {
    note("", absl::StrCat("makes ", made->dimension_, " entries (", SizeWords(made->blocks_),
                          "), at most ", dimension_max,
                          " are allowed: take fewer values, hash_bits or crosses"));
  }
  if (!good) return nullptr;
  made->scale_ = l2_max / std::sqrt(static_cast<double>(made->blocks_.size())) * kRounding;
  return made;
}

int FeatureSchema::FieldOf(std::string_view name) const {
  const auto known = by_name_.find(name);
  return known == by_name_.end() ? -1 : known->second;
}

std::string FeatureSchema::EntryName(int entry) const {
  const auto after = std::upper_bound(blocks_.begin(), blocks_.end(), entry,
                                      [](int e, const FeatureBlock& b) { return e < b.begin; });
  const FeatureBlock& block = *std::prev(after);
  const int inside = entry - block.begin;
  if (block.part == FeatureBlock::Part::kBias) return block.name;
  if (block.part != FeatureBlock::Part::kCross) {
    return fields_[static_cast<std::size_t>(FieldOf(block.name))]->EntryName(inside);
  }
  const auto cross = std::find_if(crosses_.begin(), crosses_.end(),
                                  [&](const CrossPlace& c) { return c.begin == block.begin; });
  const FeatureField& a = *fields_[static_cast<std::size_t>(cross->a)];
  const FeatureField& b = *fields_[static_cast<std::size_t>(cross->b)];
  return absl::StrCat(a.EntryName(inside / b.size()), " x ", b.EntryName(inside % b.size()));
}

}  // namespace bandana
