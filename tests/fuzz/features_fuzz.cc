// Schemas and named values: any schema is made or refused, and every vector that one makes lies in
// the ball, whatever the values. Input: the length of a FeatureSchema, 2 bytes little-endian; the
// schema; a SelectRequest.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bandana/v1/recommender.pb.h"
#include "common/base/check.h"
#include "common/design/wire_messages.h"
#include "common/features/encoder.h"
#include "common/mechanisms/feature_ball.h"

namespace {

constexpr int kDimensionMax = 512;
constexpr double kL2Max = 3;

void CheckVectors(const bandana::FeatureSchema& schema, const bandana::v1::SelectRequest& request,
                  bandana::ValueRule rule) {
  bandana::ValueLog log;
  log.Begin(rule, schema.fields().size());
  const bool hidden = rule == bandana::ValueRule::kHidden;
  bandana::EncodedContext context;
  const absl::Status encoded = EncodeContext(schema, bandana::FromProto(request.context()),
                                             {.list = "context"}, log, context);
  BANDANA_CHECK(encoded.ok() || !hidden);
  if (!encoded.ok()) return;
  const auto d = static_cast<std::size_t>(schema.dimension());
  std::vector<double> row(d);
  std::vector<double> x(d);
  for (const bandana::v1::NamedArm& arm : request.arms().named_arms().arms()) {
    const bandana::ValuePath path{.list = "arms", .index = 0, .member = "features"};
    const absl::Status made = EncodeArm(schema, bandana::FromProto(arm.features()), path, log, row);
    BANDANA_CHECK(made.ok() || !hidden);
    if (!made.ok()) continue;
    BANDANA_CHECK(CheckArmRow(schema, row).ok());
    Join(schema, context, row, x);
    BANDANA_CHECK(bandana::InBall(x, kL2Max));
  }
  BANDANA_CHECK(log.notes().size() <= bandana::ValueLog::kNotesMax);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::size_t length = std::min<std::size_t>(data[0] + 256u * data[1], size - 2);
  bandana::v1::FeatureSchema message;
  bandana::v1::SelectRequest request;
  if (!message.ParseFromArray(data + 2, static_cast<int>(length)) ||
      !request.ParseFromArray(data + 2 + length, static_cast<int>(size - 2 - length))) {
    return 0;
  }
  int mistakes = 0;
  const auto schema =
      bandana::FeatureSchema::Make(bandana::FromProto(message), kL2Max, kDimensionMax,
                                   [&](std::string_view, const std::string&) { ++mistakes; });
  BANDANA_CHECK((schema == nullptr) == (mistakes > 0));
  if (schema == nullptr) return 0;
  // A device gets the schema that the server has.
  const auto again = bandana::FeatureSchema::Make(
      schema->message(), kL2Max, kDimensionMax,
      [](std::string_view, const std::string&) { BANDANA_CHECK(false); });
  BANDANA_CHECK(again->Text() == schema->Text());
  for (int entry = 0; entry < schema->dimension(); ++entry) {
    BANDANA_CHECK(!schema->EntryName(entry).empty());
  }
  CheckVectors(*schema, request, bandana::ValueRule::kHidden);
  CheckVectors(*schema, request, bandana::ValueRule::kOpen);
  return 0;
}
