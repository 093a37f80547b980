#include "common/features/encoder.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"

namespace bandana {
namespace {

std::span<double> BlockOf(const FeatureSchema& schema, int field, std::span<double> x) {
  return x.subspan(
      static_cast<std::size_t>(schema.begin(field)),
      static_cast<std::size_t>(schema.fields()[static_cast<std::size_t>(field)]->size()));
}

// The least name of `values` that is none of the fields [begin, end); names have no order there.
std::string UnknownName(const FeatureSchema& schema, const NamedValues& values, int begin,
                        int end) {
  const std::string_view* least = nullptr;
  for (const auto& [name, value] : values) {
    const int field = schema.FieldOf(name);
    if (field >= begin && field < end) continue;
    if (least == nullptr || name < *least) least = &name;
  }
  return std::string(least == nullptr ? "" : *least);
}

std::string KnownNames(const FeatureSchema& schema, int begin, int end) {
  if (begin == end) return " here: it has none";
  constexpr int kShown = 8;
  std::string names = " here: it has ";
  for (int f = begin; f < std::min(end, begin + kShown); ++f) {
    absl::StrAppend(&names, f == begin ? "" : ", ",
                    schema.fields()[static_cast<std::size_t>(f)]->name());
  }
  return end - begin > kShown ? names + ", .." : names;
}

// Fills in the blocks of the fields [begin, end), not scaled. x is zero before.
absl::Status EncodeFields(const FeatureSchema& schema, const NamedValues& values, int begin,
                          int end, const ValuePath& path, ValueLog& log, std::span<double> x) {
  std::size_t known = 0;
  std::vector<const NamedValue*> given(static_cast<std::size_t>(end - begin));
  for (const auto& [name, value] : values) {
    const int f = schema.FieldOf(name);
    if (f < begin || f >= end) continue;
    given[static_cast<std::size_t>(f - begin)] = &value;
    ++known;
  }
  for (int f = begin; f < end; ++f) {
    const FeatureField& field = *schema.fields()[static_cast<std::size_t>(f)];
    const auto number = static_cast<std::size_t>(f);
    const NamedValue* const value = given[static_cast<std::size_t>(f - begin)];
    if (value == nullptr || value->kind == NamedValue::Kind::kNull) {
      log.TakeMissing(number);
      continue;
    }
    const std::span<double> block = BlockOf(schema, f, x);
    const Found found = field.Encode(*value, block);
    if (found == Found::kWrong) std::fill(block.begin(), block.end(), 0.0);
    BANDANA_RETURN_IF_ERROR(log.Take(field, number, found, path, *value));
  }
  if (known == values.size()) return absl::OkStatus();
  return log.TakeUnknownName(UnknownName(schema, values, begin, end), path,
                             KnownNames(schema, begin, end));
}

// The cross of two blocks that are in x, not scaled.
void Multiply(const FeatureSchema& schema, const CrossPlace& cross, std::span<double> x) {
  const std::span<const double> a = BlockOf(schema, cross.a, x);
  const std::span<const double> b = BlockOf(schema, cross.b, x);
  double* out = x.data() + cross.begin;
  for (const double ai : a) {
    for (const double bj : b) *out++ = ai * bj;
  }
}

// A cross of context and arm: `row` is scaled, the context's entries are not.
void MultiplyBoth(const FeatureSchema& schema, const CrossPlace& cross,
                  const EncodedContext& context, std::span<const double> row, std::span<double> x) {
  const bool context_first = schema.IsContext(cross.a);
  const int arm = context_first ? cross.b : cross.a;
  const FeatureField& arm_field = *schema.fields()[static_cast<std::size_t>(arm)];
  const FeatureField& b = *schema.fields()[static_cast<std::size_t>(cross.b)];
  const double* const own = row.data() + schema.begin(arm);
  double* const out = x.data() + cross.begin;
  for (const EncodedContext::Entry& entry : context.of(context_first ? cross.a : cross.b)) {
    for (int i = 0; i < arm_field.size(); ++i) {
      const int at = context_first ? entry.index * b.size() + i : i * b.size() + entry.index;
      out[at] = entry.value * own[i];
    }
  }
}

}  // namespace

absl::Status EncodeContext(const FeatureSchema& schema, const NamedValues& values,
                           const ValuePath& path, ValueLog& log, EncodedContext& context) {
  context.x.assign(static_cast<std::size_t>(schema.dimension()), 0.0);
  context.entries.clear();
  context.end.clear();
  const int fields = schema.context_fields();
  BANDANA_RETURN_IF_ERROR(EncodeFields(schema, values, 0, fields, path, log, context.x));
  for (int f = 0; f < fields; ++f) {
    const std::span<const double> block = BlockOf(schema, f, context.x);
    for (std::size_t i = 0; i < block.size(); ++i) {
      if (block[i] != 0) context.entries.push_back({static_cast<int>(i), block[i]});
    }
    context.end.push_back(context.entries.size());
  }
  for (const CrossPlace& cross : schema.crosses()) {
    if (schema.IsOfContext(cross)) Multiply(schema, cross, context.x);
  }
  for (double& v : context.x) v *= schema.scale();
  return absl::OkStatus();
}

absl::Status EncodeArm(const FeatureSchema& schema, const NamedValues& values,
                       const ValuePath& path, ValueLog& log, std::span<double> row) {
  std::fill(row.begin(), row.end(), 0.0);
  const int end = static_cast<int>(schema.fields().size());
  BANDANA_RETURN_IF_ERROR(
      EncodeFields(schema, values, schema.context_fields(), end, path, log, row));
  if (schema.has_bias()) row[0] = 1;
  for (const CrossPlace& cross : schema.crosses()) {
    if (schema.IsOfArm(cross)) Multiply(schema, cross, row);
  }
  for (double& v : row) v *= schema.scale();
  return absl::OkStatus();
}

void Join(const FeatureSchema& schema, const EncodedContext& context, std::span<const double> row,
          std::span<double> x) {
  std::copy(row.begin(), row.end(), x.begin());
  const std::size_t begin = schema.has_bias() ? 1 : 0;
  std::size_t end = begin;
  for (int f = 0; f < schema.context_fields(); ++f) {
    end += static_cast<std::size_t>(schema.fields()[static_cast<std::size_t>(f)]->size());
  }
  std::copy(context.x.begin() + static_cast<std::ptrdiff_t>(begin),
            context.x.begin() + static_cast<std::ptrdiff_t>(end),
            x.begin() + static_cast<std::ptrdiff_t>(begin));
  for (const CrossPlace& cross : schema.crosses()) {
    if (schema.IsOfArm(cross)) continue;
    if (!schema.IsOfContext(cross)) {
      MultiplyBoth(schema, cross, context, row, x);
      continue;
    }
    const int size = schema.fields()[static_cast<std::size_t>(cross.a)]->size() *
                     schema.fields()[static_cast<std::size_t>(cross.b)]->size();
    std::copy_n(context.x.begin() + cross.begin, size, x.begin() + cross.begin);
  }
}

std::vector<std::vector<ContextTerm>> ContextTerms(const FeatureSchema& schema,
                                                   const EncodedContext& context) {
  std::vector<std::vector<ContextTerm>> terms(static_cast<std::size_t>(schema.dimension()));
  for (std::size_t i = 0; i < terms.size(); ++i) {
    if (context.x[i] == 0) terms[i].push_back({static_cast<int>(i), 1});
  }
  // The reward that the context adds by itself, in units of the bias.
  for (std::size_t i = 0; i < terms.size(); ++i) {
    if (context.x[i] != 0) terms[0].push_back({static_cast<int>(i), context.x[i] / schema.scale()});
  }
  for (const CrossPlace& cross : schema.crosses()) {
    if (schema.IsOfArm(cross) || schema.IsOfContext(cross)) continue;
    const bool context_first = schema.IsContext(cross.a);
    const int arm = context_first ? cross.b : cross.a;
    const int arm_size = schema.fields()[static_cast<std::size_t>(arm)]->size();
    const int b_size = schema.fields()[static_cast<std::size_t>(cross.b)]->size();
    for (const EncodedContext::Entry& entry : context.of(context_first ? cross.a : cross.b)) {
      for (int i = 0; i < arm_size; ++i) {
        const int at = context_first ? entry.index * b_size + i : i * b_size + entry.index;
        const int own = schema.begin(arm) + i;
        terms[static_cast<std::size_t>(own)].push_back({cross.begin + at, entry.value});
      }
    }
  }
  return terms;
}

absl::Status CheckArmRow(const FeatureSchema& schema, std::span<const double> row) {
  // Below twice what the scale keeps for rounding, so that vectors stay inside the ball.
  constexpr double kSlack = 1 + 1e-11;
  for (const FeatureBlock& block : schema.blocks()) {
    double largest = 0;
    double sum = 0;
    for (int i = block.begin; i < block.begin + block.size; ++i) {
      largest = std::max(largest, std::abs(row[static_cast<std::size_t>(i)]));
      sum += row[static_cast<std::size_t>(i)] * row[static_cast<std::size_t>(i)];
    }
    const bool is_cross = block.part == FeatureBlock::Part::kCross;
    const auto cross = std::find_if(schema.crosses().begin(), schema.crosses().end(),
                                    [&](const CrossPlace& c) { return c.begin == block.begin; });
    const bool of_context =
        block.part == FeatureBlock::Part::kContext || (is_cross && !schema.IsOfArm(*cross));
    const std::string place = absl::StrCat("entries ", block.begin, " to ",
                                           block.begin + block.size - 1, " (", block.name, ")");
    if (of_context && largest != 0) {
      return InvalidArgument(place, " are of the context and must be 0 in an arm");
    }
    if (block.part == FeatureBlock::Part::kBias &&
        !(std::abs(row[0] - schema.scale()) <= schema.scale() * 1e-11)) {
      return InvalidArgument("entry 0 (bias) must be ", schema.scale(), ", got ", row[0]);
    }
    if (!(sum <= schema.scale() * schema.scale() * kSlack)) {
      return InvalidArgument(place, " must have an l2 norm of at most ", schema.scale());
    }
  }
  return absl::OkStatus();
}

}  // namespace bandana
