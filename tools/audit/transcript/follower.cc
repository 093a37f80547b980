#include "tools/audit/transcript/follower.h"

#include <algorithm>
#include <span>

#include "common/base/check.h"
#include "common/base/file.h"
#include "common/base/status.h"

namespace bandana::audit {

using server::FollowedModel;

absl::StatusOr<std::unique_ptr<Follower>> Follower::Open(const Options& options) {
  std::unique_ptr<Follower> follower(new Follower(options));
  BANDANA_RETURN_IF_ERROR(follower->Start());
  return follower;
}

absl::Status Follower::Start() {
  recommender_.reset();
  registry_.reset();
  followed_.clear();
  server::ModelRegistry::Options options{.data_dir = options_.folder,
                                         .models_max = 2,
                                         .log = options_.store,
                                         .noise_key_file = options_.noise_key_file,
                                         .stepped = true};
  options.open = [this](ModelSpec spec, const std::string& folder, const Clock& clock,
                        const server::HostedModelOptions& hosted)
      -> absl::StatusOr<std::unique_ptr<server::ServedModel>> {
    const std::string name = spec.public_spec.name;
    server::FollowOptions follow{.hosted = hosted};
    follow.hosted.noise_binding = options_.binding;
    follow.hand_decision = [this](const std::string&, const PublicSpec& model,
                                  std::span<const Decision> slots) {
      const auto owned = options_.owner->FindOwned(model.name);
      if (owned != nullptr) owned->RecordSlots(slots).IgnoreError();
    };
    BANDANA_RETURN_IF_ERROR(MakeFolders(folder));
    BANDANA_ASSIGN_OR_RETURN(const server::SharedModel seen, options_.store->Look(folder));
    BANDANA_ASSIGN_OR_RETURN(std::unique_ptr<FollowedModel> model,
                             FollowedModel::Open(std::move(spec), folder, clock, follow, seen));
    followed_.push_back(
        {.owned = options_.owner->FindOwned(name), .folder = folder, .model = model.get()});
    return std::unique_ptr<server::ServedModel>(std::move(model));
  };
  BANDANA_ASSIGN_OR_RETURN(registry_, server::ModelRegistry::Open(options, *options_.clock));
  for (const auto& owned : options_.owner->List()) {
    BANDANA_RETURN_IF_ERROR(registry_->AddConfigured(owned->spec()));
  }
  recommender_ = server::MakeRecommender({}, *registry_, *options_.tokens, *options_.clock,
                                         options_.decision_index);
  return absl::OkStatus();
}

bool Follower::Current() const {
  const auto owned = options_.owner->List();
  return std::ranges::equal(owned, followed_, [](const auto& model, const Followed& followed) {
    return model == followed.owned.lock();
  });
}

void Follower::Step() {
  // The owner has opened a model anew, with another configuration.
  if (!Current()) BANDANA_CHECK(Start().ok());
  for (const Followed& followed : followed_) {
    const auto seen = options_.store->Look(followed.folder);
    if (seen.ok()) followed.model->See(*seen, /*owner_reached=*/true);
    followed.model->Step();
  }
}

}  // namespace bandana::audit
