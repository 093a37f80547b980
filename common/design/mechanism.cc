#include "common/design/mechanism.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "common/base/status.h"
#include "common/design/mechanism_table.h"

namespace bandana {
namespace {

// The mechanism of a model whose server draws, on its device: a name.
class NamedMechanism final : public Mechanism {
 public:
  NamedMechanism(const MechanismRow& row, v1::Mode mode) : Mechanism(row, mode) {}

  std::optional<PrivacyCost> cost() const override { return std::nullopt; }
  std::vector<std::pair<std::string, std::string>> IdentityFields(const ModelSpec&) const override {
    return {};
  }
  std::string Describe(const ModelSpec&) const override { return name(); }
};

std::string Promise(const PublicSpec& spec) {
  return absl::StrFormat("epsilon %g, delta %g per event, guarantee %s", spec.epsilon.value,
                         spec.delta.value, spec.guarantee);
}

absl::StatusOr<const MechanismRow*> RowOf(const PublicSpec& spec) {
  const MechanismRow* const row = FindMechanism(spec.mechanism, spec.mode);
  if (row != nullptr) return row;
  return InvalidArgument(
      "model ", spec.name, " of mode ", v1::Mode_Name(spec.mode),
      " has a mechanism that is not for it: ", v1::Mechanism_Name(spec.mechanism));
}

}  // namespace

std::string Mechanism::Line(const PublicSpec& spec) const {
  return absl::StrCat(v1::Mode_Name(spec.mode), ", ", name(), ", ", Promise(spec));
}

std::string Mechanism::InForce(const PublicSpec& spec) const { return Line(spec) + "\n"; }

std::vector<std::pair<std::string, std::string>> Mechanism::Summary(const ModelSpec& spec) const {
  std::vector<std::pair<std::string, std::string>> lines = {{"mechanism", Describe(spec)}};
  for (const absl::string_view row : absl::StrSplit(spec.plan, '\n', absl::SkipEmpty())) {
    lines.emplace_back("", row);
  }
  lines.emplace_back("privacy", Promise(spec.public_spec));
  return lines;
}

std::string Mechanism::Warning(const PublicSpec& spec) const {
  if (spec.guarantee != "proven") {
    return absl::StrCat("the guarantee is \"", spec.guarantee, "\", not proven");
  }
  if (spec.research) return "research: true lifts the policy caps; not for real users";
  return "";
}

MadeMechanism MakeByRow(const MechanismRow& row, const PublicSpec& spec) {
  return row.make(row, spec);
}

MadeMechanism MakeNamed(const MechanismRow& row, const PublicSpec& spec) {
  return std::make_shared<NamedMechanism>(row, spec.mode);
}

MadeMechanism MakeMechanism(const PublicSpec& spec) {
  BANDANA_ASSIGN_OR_RETURN(const MechanismRow* const row, RowOf(spec));
  return ModeOf(spec.mode).make_on_device(*row, spec);
}

MadeMechanism MakeMechanism(const ModelSpec& spec) {
  BANDANA_ASSIGN_OR_RETURN(const MechanismRow* const row, RowOf(spec.public_spec));
  if (row->make_served != nullptr) return row->make_served(*row, spec);
  return row->make(*row, spec.public_spec);
}

std::shared_ptr<const Mechanism> NoMechanism() {
  static const auto none = *MakeMechanism(PublicSpec{.made = nullptr});
  return none;
}

}  // namespace bandana
