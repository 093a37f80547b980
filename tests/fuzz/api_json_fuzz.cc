// JSON that arrives over HTTP: requests of every method, and calls of Personalizer. The first byte
// says which.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/check.h"
#include "common/base/status.h"
#include "server/api/json_call.h"
#include "server/api/json_writer.h"
#include "server/api/personalizer_calls.h"
#include "server/api/routes.h"
#include "server/service/transport/exchange.h"

namespace {

using namespace bandana;          // NOLINT
using namespace bandana::server;  // NOLINT

// A message that was read is written again, and reads back equal.
void Request(const Rpc& rpc, std::string_view text) {
  const auto exchange = rpc.make_exchange();
  if (!FromJson(text, exchange->request()).ok()) return;
  const auto again = ToJson(exchange->request());
  if (!again.ok()) return;  // a Struct may hold NaN, which JSON does not
  const auto other = rpc.make_exchange();
  BANDANA_CHECK(FromJson(*again, other->request()).ok());
  (void)exchange->NameModel("news");
}

void Rank(std::string_view text, bool with_slots, bool any_context) {
  const auto call = ParseRank(text, with_slots, any_context);
  if (!call.ok()) return;
  v1::GetModelResponse model;
  model.set_dimension(8);
  model.set_feature_l2_max(1);
  for (const bool schema : {false, true}) {
    if (schema) {
      model.mutable_features()->add_context()->set_name("a");
      model.mutable_features()->add_arm()->set_name("a");
    }
    RankPart part{.decision_id = DecisionIdOf(call->event_id), .offered = Offered(*call, {})};
    if (with_slots) part.slot = &call->slots.front();
    const auto request = DecisionOf(*call, part, model);
    if (!request.ok()) continue;
    if (schema) continue;
    const auto& features = request->arms().inline_arms().features();
    for (int i = 0; i < features.size(); i += 8) {
      double squares = 0;
      for (int j = 0; j < 8; ++j) squares += features[i + j] * features[i + j];
      BANDANA_CHECK(squares <= 1);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto rpcs = RoutedRpcs();
  const std::size_t which = data[0] % (rpcs.size() + 6);
  if (which < rpcs.size()) {
    Request(*rpcs[which], text);
  } else {
    switch (which - rpcs.size()) {
      case 0:
      case 1:
        for (const bool any_context : {false, true}) {
          Rank(text, which != rpcs.size(), any_context);
        }
        break;
      case 2:
      case 3:
        BANDANA_CHECK(ParseRewards(text, false, true).ok());
        (void)ParseRewards(text, which - rpcs.size() == 3, false);
        break;
      case 4:
        (void)FindRoute(text);
        break;
      default: {
        v1::ReportRequest request;
        (void)FromJson(WithoutOddRewards(text), request);
        v1::BatchSelectRequest decisions;
        (void)FromJson(WithoutOddFeatures(text), decisions);
      }
    }
  }
  return 0;
}
