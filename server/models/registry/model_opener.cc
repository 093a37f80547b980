#include "server/models/registry/model_opener.h"

#include <utility>

#include "common/base/status.h"
#include "common/base/temp_folder.h"
#include "common/promise/mode.h"
#include "common/random/bit_source.h"
#include "server/models/folder/noise_key_file.h"
#include "server/models/folder/publication.h"
#include "server/models/replicas/ranks.h"

namespace bandana::server {

absl::StatusOr<OpenedModel> ModelOpener::Open(ModelSpec spec, OpenAs as) {
  const bool shared = cluster_.shared() && as == OpenAs::kAny;
  return shared ? OpenShared(std::move(spec)) : OpenOwned(std::move(spec), as);
}

absl::StatusOr<OpenedModel> ModelOpener::OpenOwned(ModelSpec spec, OpenAs as,
                                                   std::shared_ptr<const std::string> followed) {
  const std::string folder = folders_.PathOf(spec.public_spec.name);
  const bool accepts = as == OpenAs::kAcceptLost;
  BANDANA_ASSIGN_OR_RETURN(HostedModelOptions options, OptionsFor(spec));
  options.accept_lost = accepts;
  options.followed = std::move(followed);
  options.doubt = standings_.Vouch(spec, /*ask=*/accepts, options.elsewhere);
  if (!options.doubt.ok() && !(accepts && IsNeedsEpoch(options.doubt))) return options.doubt;
  BANDANA_ASSIGN_OR_RETURN(std::unique_ptr<ServedModel> opened,
                           options_.open(std::move(spec), folder, clock_, options));
  HostedModel* const owned = opened->owned();
  return OpenedModel{.model = std::move(opened), .owned = owned};
}

absl::StatusOr<OpenedModel> ModelOpener::OpenShared(ModelSpec spec) {
  const std::string name = spec.public_spec.name;
  BANDANA_ASSIGN_OR_RETURN(std::shared_ptr<const StoreView> view, cluster_.Look());
  const SharedModel* seen = SharedIn(*view, name);
  // An earlier run of this server may still have the lease.
  const bool own =
      seen == nullptr || seen->mine ||
      (!seen->owned && RankOf(seen->stored.log, view->servers, cluster_.address()) == 0);
  if (own) {
    absl::StatusOr<OpenedModel> model = OpenOwned(spec);
    const bool doubted = IsNeedsEpoch(model.status());
    if (model.ok() || !(absl::IsUnavailable(model.status()) || doubted)) return model;
    // Another server may have been faster. A model that may not go on may still be selected from.
    BANDANA_ASSIGN_OR_RETURN(view, cluster_.Look());
    seen = SharedIn(*view, name);
    if (seen == nullptr || !(seen->owned || doubted)) return model;
  }
  return OpenFollowed(std::move(spec), *seen);
}

absl::StatusOr<OpenedModel> ModelOpener::OpenFollowed(ModelSpec spec, const SharedModel& seen) {
  const std::string name = spec.public_spec.name;
  BANDANA_ASSIGN_OR_RETURN(const bool known, folders_.Adopt(name));
  if (!known) return Unavailable("the store does not have model ", name, " any more");
  FollowOptions options;
  BANDANA_ASSIGN_OR_RETURN(options.hosted, OptionsFor(spec));
  options.hand_decision = options_.hand_decision;
  BANDANA_ASSIGN_OR_RETURN(
      std::shared_ptr<FollowedModel> model,
      FollowedModel::Open(std::move(spec), folders_.PathOf(name), clock_, options, seen));
  FollowedModel* const followed = model.get();
  return OpenedModel{.model = std::move(model), .followed = followed};
}

absl::Status ModelOpener::Try(ModelSpec spec) const {
  BANDANA_ASSIGN_OR_RETURN(const TempFolder folder, TempFolder::Make(folders_.HalfMade("try-")));
  HostedModelOptions options;
  options.stepped = true;
  options.free_bytes = options_.free_bytes;
  // Nothing that this noise is part of is kept: any key does.
  BANDANA_ASSIGN_OR_RETURN(options.noise_key, NewNoiseKey(SystemBits()));
  BANDANA_ASSIGN_OR_RETURN(options.pseudonym_key, NewPseudonymKey());
  const std::string inside = folder.path() + "/" + spec.public_spec.name;
  return HostedModel::Open(std::move(spec), inside, clock_, options).status();
}

absl::StatusOr<HostedModelOptions> ModelOpener::OptionsFor(const ModelSpec& spec) {
  HostedModelOptions options;
  options.log = options_.log;
  options.checkpoint_seal = options_.checkpoint_seal;
  options.stepped = options_.stepped;
  options.clock_ahead_max = options_.clock_ahead_max;
  options.warn = [this, name = spec.public_spec.name](const std::string& message) {
    options_.warn(name, message);
  };
  options.free_bytes = options_.free_bytes;
  options.kind_read = cluster_.kind_read();
  BANDANA_ASSIGN_OR_RETURN(options.noise_key, KeyFor(spec));
  options.parts = parts_;
  BANDANA_ASSIGN_OR_RETURN(options.pseudonym_key, PseudonymKeyFor(spec));
  if (options_.ask_parts && cluster_.shared()) {
    options.ask_parts = [this](const PartQuestion& question) {
      return options_.ask_parts(cluster_.Others(), question);
    };
  }
  return options;
}

absl::StatusOr<std::shared_ptr<const NoiseKey>> ModelOpener::KeyFor(const ModelSpec& spec) {
  if (!ModeOf(spec.public_spec.mode).server_draws) return std::shared_ptr<const NoiseKey>();
  const std::lock_guard lock(key_mutex_);
  if (noise_key_ == nullptr) {
    BANDANA_ASSIGN_OR_RETURN(noise_key_, options_.noise_key_file.empty()
                                             ? OpenNoiseKey(options_.data_dir, SystemBits())
                                             : ReadNoiseKey(options_.noise_key_file));
  }
  return noise_key_;
}

absl::StatusOr<std::shared_ptr<const PseudonymKey>> ModelOpener::PseudonymKeyFor(
    const ModelSpec& spec) {
  if (!spec.decision_log) return std::shared_ptr<const PseudonymKey>();
  if (parts_ != nullptr) return parts_->Key();
  const std::lock_guard lock(key_mutex_);
  if (pseudonym_key_ == nullptr) {
    BANDANA_ASSIGN_OR_RETURN(pseudonym_key_, OpenPseudonymKey(options_.data_dir));
  }
  return pseudonym_key_;
}

absl::Status ModelOpener::CheckKey(const ModelSpec& spec) {
  const bool made = !options_.noise_key_file.empty() || HasNoiseKey(options_.data_dir);
  if (!made) {
    const std::lock_guard lock(key_mutex_);
    if (noise_key_ == nullptr) return absl::OkStatus();
  }
  return KeyFor(spec).status();
}

}  // namespace bandana::server
