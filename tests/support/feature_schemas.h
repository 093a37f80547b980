// Schemas and values of tests, from text.
#pragma once

#include <google/protobuf/text_format.h>
#include <google/protobuf/util/json_util.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "common/base/status.h"
#include "common/design/wire_messages.h"
#include "common/features/schema.h"

namespace bandana::testing {

inline v1::FeatureSchema SchemaMessage(const std::string& text) {
  v1::FeatureSchema schema;
  BANDANA_CHECK(google::protobuf::TextFormat::ParseFromString(text, &schema));
  return schema;
}

// Mistakes as "path: message".
inline std::vector<std::string> SchemaMistakes(const v1::FeatureSchema& schema, double l2_max = 1,
                                               int dimension_max = 256) {
  std::vector<std::string> mistakes;
  const auto made = FeatureSchema::Make(
      FromProto(schema), l2_max, dimension_max,
      [&](std::string_view f, std::string m) { mistakes.push_back(std::string(f) + ": " + m); });
  BANDANA_CHECK((made == nullptr) == !mistakes.empty());
  return mistakes;
}

inline std::shared_ptr<const FeatureSchema> MakeSchema(const std::string& text, double l2_max = 1,
                                                       int dimension_max = 4096) {
  auto schema = FeatureSchema::Make(FromProto(SchemaMessage(text)), l2_max, dimension_max,
                                    [](std::string_view, std::string) {});
  BANDANA_CHECK(schema != nullptr);
  return schema;
}

inline google::protobuf::Struct ValuesOf(const std::string& json) {
  google::protobuf::Struct values;
  BANDANA_CHECK(google::protobuf::util::JsonStringToMessage(json, &values).ok());
  return values;
}

// A shop: 1 + 3 + 2 + 1 + 8 + 24 = 39 entries, 6 blocks.
inline constexpr char kShopSchema[] = R"(
  bias: true
  context { name: "device" categorical { values: "ios" values: "android" values: "web" } }
  context { name: "hour" cyclic { period: 24 } }
  arm { name: "price" numeric { log: true low: 1 high: 500 } }
  arm { name: "tags" set { hash_bits: 3 } }
  crosses { a: "device" b: "tags" }
)";

}  // namespace bandana::testing
