#include "client/core/selection/named_arms.h"

#include <cstddef>
#include <span>
#include <utility>

#include "client/core/selection/select_message.h"
#include "common/base/status.h"
#include "common/features/encoder.h"
#include "common/promise/mode.h"

namespace bandana::device {
namespace {

struct ToNamed {
  NamedValue operator()(double value) const { return NamedValue::Number(value); }
  NamedValue operator()(bool value) const { return NamedValue::Flag(value); }
  NamedValue operator()(const std::string& value) const { return NamedValue::Text(value); }
  template <typename Element>
  NamedValue operator()(const std::vector<Element>& values) const {
    std::vector<NamedValue> list;
    list.reserve(values.size());
    for (const Element& value : values) list.push_back((*this)(value));
    return NamedValue::List(std::move(list));
  }
};

// Views of the features, which outlive them.
NamedValues ValuesOf(const Features& features) {
  NamedValues values;
  for (const auto& [name, value] : features.values()) {
    values.emplace_back(name, std::visit(ToNamed{}, value));
  }
  return values;
}

}  // namespace

absl::StatusOr<EncodedArms> EncodeHere(const PublicSpec& spec, const Arms& arms) {
  const FeatureSchema* const schema = spec.features.get();
  if (schema == nullptr) {
    return InvalidArgument("arms: model ", spec.name, " has no schema of named features");
  }
  BANDANA_RETURN_IF_ERROR(CheckNamedArms(arms.named));
  ValueLog log;
  log.Begin(ModeOf(spec.mode).values, schema->fields().size());
  EncodedContext context;
  BANDANA_RETURN_IF_ERROR(
      EncodeContext(*schema, arms.context == nullptr ? NamedValues() : ValuesOf(*arms.context),
                    {.list = "context"}, log, context));
  const auto d = static_cast<std::size_t>(schema->dimension());
  EncodedArms encoded;
  encoded.features.resize(arms.named.size() * d);
  std::vector<double> row(d);
  for (std::size_t i = 0; i < arms.named.size(); ++i) {
    const ValuePath path{.list = "arms", .index = static_cast<int>(i), .member = "features"};
    BANDANA_RETURN_IF_ERROR(EncodeArm(*schema, ValuesOf(arms.named[i].features), path, log, row));
    Join(*schema, context, row, std::span(encoded.features).subspan(i * d, d));
  }
  encoded.notes = log.notes();
  for (const FieldCount& field : log.counts()) {
    encoded.count.values += field.values;
    encoded.count.missing += field.missing;
    encoded.count.unknown += field.unknown;
    encoded.count.out_of_bounds += field.out_of_bounds;
  }
  return encoded;
}

}  // namespace bandana::device
