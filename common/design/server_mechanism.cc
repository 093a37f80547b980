#include "common/design/server_mechanism.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/status.h"
#include "common/design/mechanisms/none.h"
#include "common/design/server_mechanism_table.h"

namespace bandana {

ServerMechanism::Fields ServerMechanism::Summary(const ModelSpec& spec) const {
  Fields lines = {{"mechanism", Describe(spec)}};
  for (const absl::string_view row : absl::StrSplit(spec.plan, '\n', absl::SkipEmpty())) {
    lines.emplace_back("", row);
  }
  lines.emplace_back("privacy", PromiseText(spec.public_spec));
  return lines;
}

std::string ServerMechanism::Warning(const PublicSpec& spec) const {
  if (spec.guarantee != "proven") {
    return absl::StrCat("the guarantee is \"", spec.guarantee, "\", not proven");
  }
  if (spec.research) return "research: true lifts the policy caps; not for real users";
  return "";
}

absl::Status MakeMechanisms(ModelSpec& spec) {
  BANDANA_ASSIGN_OR_RETURN(std::shared_ptr<const Mechanism> made, MakeWithPart(spec.public_spec));
  BANDANA_ASSIGN_OR_RETURN(spec.mechanism, ServerRowOf(spec.public_spec).make(spec));
  spec.public_spec.made = std::move(made);
  return absl::OkStatus();
}

std::shared_ptr<const ServerMechanism> NoServerMechanism() {
  static const auto none = *MakeServerNone(ModelSpec{.mechanism = nullptr});
  return none;
}

}  // namespace bandana
