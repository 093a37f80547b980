#include "tools/fleet/truth.h"

#include "common/decisions/json_parts.h"

namespace bandana {

void AppendTruth(std::uint64_t round, const Choice& decision, const RankedArm& chosen,
                 std::string& text) {
  using json_parts::AppendNumber;
  text += R"({"round":)";
  AppendNumber(round, text);
  text += R"(,"user":)";
  json_parts::AppendText(decision.user, text);
  if (!decision.arm_ids.empty()) {
    text += R"(,"arms":)";
    json_parts::AppendArray(decision.arm_ids, text, AppendNumber<std::uint32_t>);
  }
  text += R"(,"expected":)";
  json_parts::AppendNumbers(decision.expected, text);
  text += R"(,"chosen":)";
  AppendNumber(chosen.position, text);
  text += R"(,"p":)";
  AppendNumber(chosen.propensity, text);
  text += "}\n";
}

}  // namespace bandana
