#include "common/promise/mechanisms/none.h"

#include "absl/strings/str_cat.h"

namespace bandana {
namespace {

class None final : public Mechanism {
 public:
  None(const MechanismRow& row, Mode mode) : Mechanism(row, mode) {}

  std::string name() const override { return ""; }
  std::string_view guarantee() const override { return ""; }
  std::string_view unit() const override { return ""; }
  std::optional<PrivacyCost> cost() const override { return std::nullopt; }
  std::string InForce(const PublicSpec& spec) const override {
    return absl::StrCat(Line(spec), ", no mechanism\n");
  }
  std::string Line(const PublicSpec& spec) const override { return ModeName(spec.mode); }
};

}  // namespace

MadeMechanism MakeNone(const MechanismRow& row, const PublicSpec& spec) {
  return std::make_shared<None>(row, spec.mode);
}

}  // namespace bandana
