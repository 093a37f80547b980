#include "common/promise/mechanism.h"

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/promise/mechanism_table.h"

namespace bandana {
namespace {

// The mechanism of a model whose server draws, on its device: a name.
class NamedMechanism final : public Mechanism {
 public:
  NamedMechanism(const MechanismRow& row, Mode mode) : Mechanism(row, mode) {}

  std::optional<PrivacyCost> cost() const override { return std::nullopt; }
};

absl::StatusOr<const MechanismRow*> RowOf(const PublicSpec& spec) {
  const MechanismRow* const row = FindMechanism(spec.mechanism, spec.mode);
  if (row != nullptr) return row;
  return InvalidArgument("model ", spec.name, " of mode ", ModeName(spec.mode),
                         " has a mechanism that is not for it: ", MechanismName(spec.mechanism));
}

}  // namespace

std::string PromiseText(const PublicSpec& spec) {
  return absl::StrCat("epsilon ", spec.epsilon.value, ", delta ", spec.delta.value,
                      " per event, guarantee ", spec.guarantee);
}

std::string Mechanism::Line(const PublicSpec& spec) const {
  return absl::StrCat(ModeName(spec.mode), ", ", name(), ", ", PromiseText(spec));
}

std::string Mechanism::InForce(const PublicSpec& spec) const { return Line(spec) + "\n"; }

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

MadeMechanism MakeWithPart(const PublicSpec& spec) {
  BANDANA_ASSIGN_OR_RETURN(const MechanismRow* const row, RowOf(spec));
  return row->make == nullptr ? MakeNamed(*row, spec) : row->make(*row, spec);
}

std::shared_ptr<const Mechanism> NoMechanism() {
  static const auto none = *MakeMechanism(PublicSpec{.made = nullptr});
  return none;
}

}  // namespace bandana
