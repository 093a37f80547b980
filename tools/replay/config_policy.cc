#include "tools/replay/config_policy.h"

#include <utility>

#include "common/base/status.h"

namespace bandana {
namespace {

class ConfigPolicy : public JudgedPolicy {
 public:
  ConfigPolicy(std::string name, std::unique_ptr<ReplayedModel> model)
      : JudgedPolicy(std::move(name)), model_(std::move(model)) {}

  absl::StatusOr<bool> Law(const SlotView& view, std::vector<double>& law) override {
    const LoggedSlot& slot = view.slot();
    if (slot.cut()) return false;
    BANDANA_RETURN_IF_ERROR(Named(model_->Law(*view.decision, slot, view.taken, law), view));
    return true;
  }
  absl::Status Learn(const LoggedDecision& decision) override {
    return Annotate(Annotate(model_->Learn(decision), "decision " + decision.id), name());
  }

 private:
  absl::Status Named(const absl::Status& status, const SlotView& view) const {
    return Annotate(Annotate(status, "decision " + view.decision->id), name());
  }
  const std::unique_ptr<ReplayedModel> model_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<JudgedPolicy>> MakeConfigPolicy(const std::string& name,
                                                               const ReplayOptions& options) {
  auto model = ReplayedModel::Create(options);
  BANDANA_RETURN_IF_ERROR(Annotate(model.status(), name));
  return std::make_unique<ConfigPolicy>(name, *std::move(model));
}

}  // namespace bandana
