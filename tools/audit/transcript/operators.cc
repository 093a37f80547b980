#include "tools/audit/transcript/operators.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "tools/audit/replay_settings.h"

namespace bandana::audit {

void Operators::OpenEpoch() {
  for (const auto& model : server_->models()) {
    recorder_.Text(Observer::kOthers, "OpenEpoch", model->OpenEpoch().status().ToString());
  }
}

void Operators::Checkpoint() {
  for (const auto& model : server_->models()) {
    const auto written = model->Checkpoint();
    recorder_.Text(Observer::kOthers, "Checkpoint status", written.status().ToString());
    if (written.ok()) recorder_.Message(Observer::kOthers, "Checkpoint", *written);
  }
}

void Operators::Update(double amount) {
  std::vector<const Setting*> rows;
  for (const Setting& setting : Settings()) {
    const bool changes = !setting.change.empty() && setting.path != "name";
    if (changes && Applies(setting, spec_.config)) rows.push_back(&setting);
  }
  const auto row = static_cast<std::size_t>(amount * static_cast<double>(rows.size()));
  const Setting& setting = *rows[std::min(row, rows.size() - 1)];
  std::vector<ConfigError> errors;
  auto next = ParseModelConfig(Change(setting, spec_.config), "", /*allow_files=*/false, errors);
  const absl::Status checked =
      next ? server_->model().CheckUpdate(*next) : InvalidArgument("no configuration");
  recorder_.Text(Observer::kOthers, "UpdateModel",
                 absl::StrCat(ToAbsl(setting.path), ": ", checked.ToString()));
  if (!checked.ok()) return;
  // Whoever reports without a window promises that the moment ignores the reaction, which callers
  // here do not.
  if (spec_.public_spec.reward_window && !next->public_spec.reward_window) {
    return;
  }
  std::vector<ModelSpec> specs = {*next};
  if (other_ != nullptr) specs.push_back(*other_);
  const auto failed = server_->registry().Configure(std::move(specs));
  for (const server::AbsentModel& one : failed) {
    recorder_.Text(Observer::kOthers, "UpdateModel", one.why.ToString());
  }
  if (failed.empty()) spec_ = *std::move(next);
}

void Operators::Delete(const std::string& user) {
  for (const auto& model : server_->models()) {
    const auto deleted = model->DeleteUsers({&user, 1});
    recorder_.Text(Observer::kOthers, "DeleteUsers status", deleted.status().ToString());
    if (deleted.ok()) recorder_.Message(Observer::kOthers, "DeleteUsers", *deleted);
  }
}

void Operators::MoveAlias(const AliasMove& move) {
  recorder_.Text(Observer::kOthers, "PutAlias", Move(move, server_->registry()).ToString());
}

void Operators::MakeAlias() {
  for (const AliasMove& move : {kSplit, kUnsplit}) {
    MoveAlias(move);
    if (!server_->registry().ListAliases().empty()) return;
  }
}

}  // namespace bandana::audit
