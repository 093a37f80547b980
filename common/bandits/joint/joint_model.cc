#include "common/bandits/joint/joint_model.h"

#include <utility>

#include "common/bandits/coupling.h"
#include "common/bandits/noisy_gram.h"
#include "common/base/status.h"

namespace bandana {
namespace {

absl::Status CheckRange(const char* name, double value, double min, double max) {
  if (value >= min && value <= max) return absl::OkStatus();
  return InvalidArgument(name, " must be in [", min, ", ", max, "], got ", value);
}

absl::StatusOr<std::unique_ptr<BanditModel>> MakeModel(const JointModel::Options& options) {
  BANDANA_RETURN_IF_ERROR(CheckRange("reward_stddev", options.reward_stddev, 1e-6, 1e6));
  BANDANA_RETURN_IF_ERROR(CheckRange("prior_stddev", options.prior_stddev, 1e-6, 1e6));
  BANDANA_RETURN_IF_ERROR(CheckRange("theta_l2_max", options.theta_l2_max, 0, 1e6));
  BANDANA_RETURN_IF_ERROR(CheckRange("refresh_share", options.refresh_share, 0, 1));
  BanditModel::Options model;
  model.dimension = options.counter.dimension;
  model.observation_variance = options.reward_stddev * options.reward_stddev;
  model.prior_variance = options.prior_stddev * options.prior_stddev;
  model.exploration.alpha = options.alpha;
  return BanditModel::Create(model, Coupling::Shared());
}

}  // namespace

absl::StatusOr<std::unique_ptr<JointModel>> JointModel::Create(const Options& options) {
  BANDANA_ASSIGN_OR_RETURN(JointCounter counter, JointCounter::Create(options.counter));
  BANDANA_ASSIGN_OR_RETURN(std::unique_ptr<BanditModel> model, MakeModel(options));
  CounterEncoder encoder(counter.design());
  CounterDecoder decoder(counter.design());
  return std::unique_ptr<JointModel>(new JointModel(options, std::move(counter), std::move(model),
                                                    std::move(encoder), std::move(decoder)));
}

JointModel::JointModel(const Options& options, JointCounter counter,
                       std::unique_ptr<BanditModel> model, CounterEncoder encoder,
                       CounterDecoder decoder)
    : options_(options),
      counter_(std::move(counter)),
      encoder_(std::move(encoder)),
      decoder_(std::move(decoder)),
      model_(std::move(model)),
      posterior_(model_->Posterior(0)) {}

absl::StatusOr<bool> JointModel::Apply(const RawInteraction& event, BitSource& bits) {
  BANDANA_ASSIGN_OR_RETURN(const CounterRelease release, encoder_.Step(counter_.Clip(event), bits));
  BANDANA_RETURN_IF_ERROR(decoder_.Push(release));
  const std::uint64_t covered = decoder_.covered();
  const double due = static_cast<double>(taken_.covered) * (1 + options_.refresh_share);
  if (covered == taken_.covered || !(static_cast<double>(covered) >= due)) return false;
  taken_ = counter_.Read(decoder_);
  BANDANA_ASSIGN_OR_RETURN(const bool repaired, TakeUp());
  ++refreshes_;
  grams_repaired_ += repaired ? 1 : 0;
  return true;
}

absl::StatusOr<bool> JointModel::TakeUp() {
  BANDANA_ASSIGN_OR_RETURN(RepairedStatistics repaired,
                           RepairStatistics({taken_.gram, taken_.moment, taken_.covered,
                                             taken_.gram_variance, taken_.moment_variance},
                                            options_.theta_l2_max));
  BANDANA_RETURN_IF_ERROR(model_->SetReleased(0, std::move(repaired.statistics)));
  // From the statistics alone: a restored model has the same bits.
  model_->Rebuild();
  posterior_ = model_->Posterior(0);
  return repaired.eigenvalues_clipped > 0;
}

JointModel::State JointModel::Save() const {
  return {encoder_.Seal(), decoder_.Save(), taken_, refreshes_, grams_repaired_};
}

absl::StatusOr<std::unique_ptr<JointModel>> JointModel::Restore(const Options& options,
                                                                const State& state) {
  BANDANA_ASSIGN_OR_RETURN(JointCounter counter, JointCounter::Create(options.counter));
  BANDANA_ASSIGN_OR_RETURN(std::unique_ptr<BanditModel> model, MakeModel(options));
  BANDANA_ASSIGN_OR_RETURN(CounterEncoder encoder,
                           CounterEncoder::Restore(counter.design(), state.encoder.bytes()));
  BANDANA_ASSIGN_OR_RETURN(CounterDecoder decoder,
                           CounterDecoder::Restore(counter.design(), state.decoder));
  if (encoder.step() != decoder.step() || state.taken.covered > decoder.covered())
    return DataLoss("joint model state: its parts are of different steps");
  std::unique_ptr<JointModel> restored(new JointModel(options, std::move(counter), std::move(model),
                                                      std::move(encoder), std::move(decoder)));
  restored->taken_ = state.taken;
  restored->refreshes_ = state.refreshes;
  restored->grams_repaired_ = state.grams_repaired;
  if (state.taken.covered > 0) BANDANA_RETURN_IF_ERROR(restored->TakeUp().status());
  return restored;
}

}  // namespace bandana
