// The enums and messages of protobuf <-> those of common/promise and common/features, which do
// without it.
#pragma once

#include "absl/time/time.h"
#include "bandana/v1/config.pb.h"
#include "bandana/v1/recommender.pb.h"
#include "common/features/named_value.h"
#include "common/features/schema_message.h"
#include "common/promise/kinds.h"
#include "common/promise/model_message.h"
#include "common/promise/public_spec.h"
#include "google/protobuf/struct.pb.h"

namespace bandana {

// Numbers are the same; any number has a value.
constexpr Mode FromProto(v1::Mode mode) { return Mode{mode}; }
constexpr v1::Mode ToProto(Mode mode) { return static_cast<v1::Mode>(mode); }
constexpr MechanismId FromProto(v1::Mechanism id) { return MechanismId{id}; }
constexpr v1::Mechanism ToProto(MechanismId id) { return static_cast<v1::Mechanism>(id); }
constexpr v1::RejectReason ToProto(RejectReason reason) {
  return static_cast<v1::RejectReason>(reason);
}
// UNSPECIFIED for kinds that are not served.
v1::CounterKind ToProto(CounterKind kind);

wire::Duration FromProto(const google::protobuf::Duration& duration);
// Requires a finite duration.
google::protobuf::Duration ToProto(absl::Duration duration);
wire::CounterPolicy FromProto(const v1::CounterPolicy& counter);
wire::Reporting FromProto(const v1::Reporting& reporting);
// Empty where a name or a value is not UTF-8, which no message that came has.
wire::FeatureSchema FromProto(const v1::FeatureSchema& schema);
v1::FeatureSchema ToProto(const wire::FeatureSchema& schema);
// Without what is no part of the policy: posterior_version and epoch.
v1::GetModelResponse ToProto(const PublicSpec& spec);

// Views of the message, which outlives them.
NamedValue FromProto(const google::protobuf::Value& value);
NamedValues FromProto(const google::protobuf::Struct& values);

}  // namespace bandana
