#include "common/design/mechanism.h"

#include "common/base/status.h"
#include "common/design/mechanism_table.h"

namespace bandana {
namespace {

// A mechanism that draws nothing here: of a model without privacy, or on the device of a model
// whose server draws.
class NamedMechanism final : public Mechanism {
 public:
  NamedMechanism(const MechanismRow& row, v1::Mode mode) : Mechanism(row, mode) {}

  std::optional<PrivacyCost> cost() const override { return std::nullopt; }
  std::vector<std::pair<std::string, std::string>> IdentityFields(const ModelSpec&) const override {
    return {};
  }
  std::string Describe(const ModelSpec&) const override { return name(); }
};

absl::StatusOr<const MechanismRow*> RowOf(const PublicSpec& spec) {
  const MechanismRow* const row = FindMechanism(spec.mechanism, spec.mode);
  if (row != nullptr) return row;
  return InvalidArgument(
      "model ", spec.name, " of mode ", v1::Mode_Name(spec.mode),
      " has a mechanism that is not for it: ", v1::Mechanism_Name(spec.mechanism));
}

}  // namespace

std::string Mechanism::name() const {
  return mode_.is_private ? v1::Mechanism_Name(row_.id) : std::string();
}

MadeMechanism MakeMechanism(const PublicSpec& spec) {
  BANDANA_ASSIGN_OR_RETURN(const MechanismRow* const row, RowOf(spec));
  if (ModeOf(spec.mode).device_draws) return row->make(*row, spec);
  return std::make_shared<NamedMechanism>(*row, spec.mode);
}

MadeMechanism MakeMechanism(const ModelSpec& spec) {
  BANDANA_ASSIGN_OR_RETURN(const MechanismRow* const row, RowOf(spec.public_spec));
  if (row->make_served != nullptr) return row->make_served(*row, spec);
  if (row->make != nullptr) return row->make(*row, spec.public_spec);
  return std::make_shared<NamedMechanism>(*row, spec.public_spec.mode);
}

std::shared_ptr<const Mechanism> NoMechanism() {
  static const auto none = std::make_shared<const NamedMechanism>(
      *FindMechanism(v1::MECHANISM_UNSPECIFIED, v1::NON_PRIVATE), v1::NON_PRIVATE);
  return none;
}

}  // namespace bandana
