#include "tools/replay/exported_policy.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/mapped_file.h"
#include "common/base/status.h"
#include "common/decisions/joined_decision.h"
#include "common/design/family.h"
#include "common/design/identity.h"
#include "common/design/user_nodes.h"
#include "common/model/learners/learner.h"
#include "common/model/paths/make_path.h"
#include "common/ranking/policies/selection_rules.h"
#include "server/models/folder/export.h"
#include "server/models/folder/recovery.h"
#include "server/models/folder/stored_config.h"
#include "tools/replay/export_origin.h"
#include "tools/replay/offered_arms.h"
#include "tools/replay/posterior_law.h"

namespace bandana {
namespace {

absl::StatusOr<absl::Time> WrittenAt(const std::string& file) {
  std::error_code error;
  const auto time = std::filesystem::last_write_time(file, error);
  if (error) return Unavailable(file, ": ", error.message());
  return absl::FromChrono(std::chrono::time_point_cast<std::chrono::nanoseconds>(
      std::chrono::file_clock::to_sys(time)));
}

bool TellsUsersApart(const ModelSpec& spec) {
  if (UserNodesOf(spec).known() != UserNodes::Known::kNobody) return true;
  return spec.effects &&
         std::any_of(spec.effects->terms.begin(), spec.effects->terms.end(),
                     [](const EffectTerm& term) { return term.scope.user != EffectScope::kNone; });
}

absl::Status CheckExported(const ModelSpec& spec) {
  const Family::Scope scope = FamilyOf(spec).scope();
  if (!scope.own_choice.empty()) {
    return InvalidArgument(ToAbsl(scope.plural), " have no propensities that a log could judge");
  }
  if (server::DrawsNoise(spec)) {
    return InvalidArgument(
        "mode: the posterior of a model that draws noise needs its server's key");
  }
  if (spec.half_life > absl::ZeroDuration()) {
    return InvalidArgument(
        "half_life: must not be set: the model forgets while it decides, its export does not");
  }
  if (spec.policy != nullptr && spec.policy->favours_cold()) {
    return InvalidArgument("effects.cold_arms: must not be set");
  }
  if (TellsUsersApart(spec)) {
    return InvalidArgument(
        "the model tells users apart: an export knows them by their ids, a log by pseudonyms");
  }
  return absl::OkStatus();
}

class ExportedPolicy : public JudgedPolicy {
 public:
  ExportedPolicy(std::string name, ModelSpec spec, KeyedStream noise)
      : JudgedPolicy(std::move(name)),
        spec_(std::move(spec)),
        noise_(std::move(noise)),
        arms_(spec_),
        law_(spec_, noise_),
        user_(spec_.effects ? 1 + spec_.effects->user_groups.size() : 0, kAbsent) {}

  absl::Status Take(server::ExportedModel model, absl::Time written) {
    server::Checkpoint& checkpoint = model.checkpoint;
    origin_ = {.instance = HexOf(checkpoint.instance),
               .sequence = checkpoint.state.position.sequence,
               .written = written};
    BANDANA_ASSIGN_OR_RETURN(path_, MakePath(spec_, checkpoint.instance, /*key=*/nullptr));
    BANDANA_ASSIGN_OR_RETURN(const Identity identity,
                             server::NewIdentity(spec_, checkpoint.instance, /*key=*/nullptr));
    if (!server::IsOfModel(checkpoint, identity)) {
      return DataLoss("export: configuration and state are of different models");
    }
    BANDANA_RETURN_IF_ERROR(server::RestoreStreams(*path_, checkpoint));
    BANDANA_RETURN_IF_ERROR(model.arms.ForEach([&](server::CatalogueArm arm) {
      arms_.Put(arm.id, std::move(arm.features), arm.groups);
      return absl::OkStatus();
    }));
    BANDANA_ASSIGN_OR_RETURN(
        learner_, path_->MakeLearner(spec_, checkpoint.state, std::move(checkpoint.statistics)));
    learner_->Flush(checkpoint.state);
    posterior_ = learner_->Show(origin_.sequence, learner_->TakeChangedNodes());
    BANDANA_ASSIGN_OR_RETURN(
        node_, UserNodesOf(spec_).Resolve(spec_, "", [](std::string_view) { return -1; }));
    return absl::OkStatus();
  }

  absl::StatusOr<bool> Law(const SlotView& view, std::vector<double>& law) override {
    if (MayHaveLearnt(origin_, *view.decision)) {
      refused_ += view.at == 0 ? 1 : 0;
      return false;
    }
    if (view.slot().cut()) return false;
    absl::Status found = arms_.Find(view.slot());
    if (found.ok()) {
      found = law_.Of(*posterior_, {.node = node_, .keys = user_}, arms_.all(), view.taken, law);
    }
    BANDANA_RETURN_IF_ERROR(Annotate(Annotate(found, "decision " + view.decision->id), name()));
    return true;
  }

  std::string Note() const override {
    if (refused_ == 0) return "";
    return absl::StrCat(
        "the model has learnt from ", refused_,
        " of the decisions that are left out, or may have: ", RefusedWhere(origin_));
  }

 private:
  const ModelSpec spec_;
  KeyedStream noise_;
  OfferedArms arms_;
  PosteriorLaw law_;
  const std::vector<EffectKey> user_;  // nobody's
  ExportOrigin origin_;
  std::unique_ptr<const EventPath> path_;
  std::unique_ptr<Learner> learner_;
  std::shared_ptr<const ServedPosterior> posterior_;
  int node_ = 0;
  std::uint64_t refused_ = 0;
};

absl::StatusOr<std::unique_ptr<JudgedPolicy>> Make(const std::string& name, const std::string& file,
                                                   std::uint64_t seed) {
  BANDANA_ASSIGN_OR_RETURN(const MappedFile map, MappedFile::Open(file));
  BANDANA_ASSIGN_OR_RETURN(const absl::Time written, WrittenAt(file));
  BANDANA_RETURN_IF_ERROR(server::LookAtExport(map.bytes()).status());
  BANDANA_ASSIGN_OR_RETURN(server::ExportedModel model, server::DecodeExport(map.bytes()));
  BANDANA_ASSIGN_OR_RETURN(ModelSpec spec, server::ParseStoredConfig(model.config));
  BANDANA_RETURN_IF_ERROR(CheckExported(spec));
  BANDANA_ASSIGN_OR_RETURN(KeyedStream noise,
                           SeededNoise(absl::StrCat("bandana exported policy 1 ", seed)));
  auto policy = std::make_unique<ExportedPolicy>(name, std::move(spec), std::move(noise));
  BANDANA_RETURN_IF_ERROR(policy->Take(std::move(model), written));
  return policy;
}

}  // namespace

absl::StatusOr<std::unique_ptr<JudgedPolicy>> MakeExportedPolicy(const std::string& name,
                                                                 const std::string& file,
                                                                 std::uint64_t seed) {
  auto policy = Make(name, file, seed);
  BANDANA_RETURN_IF_ERROR(Annotate(policy.status(), name));
  return policy;
}

}  // namespace bandana
