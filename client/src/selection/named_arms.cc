#include "client/src/selection/named_arms.h"

#include <cstddef>
#include <span>
#include <unordered_set>
#include <utility>

#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/features/encoder.h"
#include "common/promise/mode.h"

namespace bandana::device {
namespace {

using google::protobuf::Struct;
using google::protobuf::Value;

struct ToValue {
  Value& out;
  void operator()(double value) const { out.set_number_value(value); }
  void operator()(bool value) const { out.set_bool_value(value); }
  void operator()(const std::string& value) const { out.set_string_value(value); }
  void operator()(const std::vector<std::string>& values) const {
    auto& list = *out.mutable_list_value();
    for (const std::string& value : values) list.add_values()->set_string_value(value);
  }
  void operator()(const std::vector<double>& values) const {
    auto& list = *out.mutable_list_value();
    for (const double value : values) list.add_values()->set_number_value(value);
  }
};

absl::Status CheckNamed(std::span<const NamedArm> arms) {
  if (arms.empty() || arms.size() > static_cast<std::size_t>(kArmsPerRequestMaxMax)) {
    return InvalidArgument("arms: 1 to ", kArmsPerRequestMaxMax, " arms a decision, got ",
                           arms.size());
  }
  std::unordered_set<std::string_view> ids;
  for (std::size_t i = 0; i < arms.size(); ++i) {
    const std::string& id = arms[i].id;
    if (id.empty() || id.size() > kArmNameBytesMax) {
      return InvalidArgument("arms[", i, "].id: must have 1 to ", kArmNameBytesMax, " bytes, got ",
                             id.size());
    }
    if (!ids.insert(id).second) return InvalidArgument("arms[", i, "].id: is there twice");
  }
  return absl::OkStatus();
}

}  // namespace

Struct ToStruct(const Features& features) {
  Struct values;
  for (const auto& [name, value] : features.values()) {
    std::visit(ToValue{(*values.mutable_fields())[name]}, value);
  }
  return values;
}

namespace {

struct ToNamed {
  NamedValue operator()(double value) const { return NamedValue::Number(value); }
  NamedValue operator()(bool value) const { return NamedValue::Flag(value); }
  NamedValue operator()(const std::string& value) const { return NamedValue::Text(value); }
  template <typename Element>
  NamedValue operator()(const std::vector<Element>& values) const {
    std::vector<NamedValue> list;
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
  BANDANA_RETURN_IF_ERROR(CheckNamed(arms.named));
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

absl::Status FillNamed(const Arms& arms, v1::SelectRequest& request) {
  if (arms.context != nullptr) *request.mutable_context() = ToStruct(*arms.context);
  if (arms.form != Arms::Form::kNamed) return absl::OkStatus();
  BANDANA_RETURN_IF_ERROR(CheckNamed(arms.named));
  for (const NamedArm& arm : arms.named) {
    v1::NamedArm& sent = *request.mutable_arms()->mutable_named_arms()->add_arms();
    sent.set_id(arm.id);
    *sent.mutable_features() = ToStruct(arm.features);
  }
  return absl::OkStatus();
}

}  // namespace bandana::device
