#include "common/model/state/sparse_stream.h"

#include <cmath>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/mechanisms/canonical_text.h"
#include "common/model/state/context_binding.h"

namespace bandana {
namespace {

// PROOF: sparse_served begin
// The belief is a function of earlier releases; it is part of the address because it is computed in
// floating point: should another build of the server compute it differently from the same log, the
// release that follows gets noise of its own.
Sha256Digest ParametersOf(const Fliphat& model, const SparseBelief& belief) {
  CanonicalText text(absl::StrCat("bandana sparse episode 1 ", ToHex(model.digest()), " "));
  text.Add(belief.residual_abs_max);
  for (const SparseEntry& entry : belief.estimate) {
    text.Add(static_cast<std::uint64_t>(entry.coordinate)).Add(entry.value);
  }
  return text.Hash();
}
// PROOF: sparse_served end

absl::Status CheckBelief(const SparseBelief& belief, const FliphatOptions& options) {
  if (!(belief.residual_abs_max > 0 && belief.residual_abs_max <= options.reward_abs_max)) {
    return DataLoss("checkpoint: a sparse model's clip is out of range");
  }
  std::set<int> coordinates;
  for (const SparseEntry& entry : belief.estimate) {
    if (entry.coordinate < 0 || entry.coordinate >= options.dimension ||
        !std::isfinite(entry.value) || !coordinates.insert(entry.coordinate).second) {
      return DataLoss("checkpoint: a sparse estimate's entry is out of range");
    }
  }
  return absl::OkStatus();
}

}  // namespace

// PROOF: sparse_served begin
absl::StatusOr<bool> SparseStream::Step(std::span<const double> x, double reward,
                                        const Fliphat& model, const NoiseOrigin& origin) {
  if (!state_) state_ = model.Start();
  const std::uint64_t before = state_->episode;
  std::optional<KeyedStream> keyed;
  const NoiseBinding& binding = BindingOr(origin.binding);
  const EpisodeBits bits = [&](std::uint64_t episode,
                               const NoiseInput& sums) -> absl::StatusOr<BitSource*> {
    const NoiseAddress address{.instance = origin.instance,
                               .epoch = origin.epoch,
                               .parameters = ParametersOf(model, state_->belief),
                               .stream = 0,
                               .node = episode + 1,
                               .history = origin.history,
                               .input = binding.InputOf(sums)};
    BANDANA_ASSIGN_OR_RETURN(KeyedStream stream, KeyedStream::ForNode(*origin.key, address));
    keyed.emplace(std::move(stream));
    return static_cast<BitSource*>(&*keyed);
  };
  BANDANA_RETURN_IF_ERROR(
      model.Apply(*state_, FeaturesOf(binding, x), binding.RewardOf(reward), bits));
  return state_->episode != before;
}

void SparseStream::Close() {
  if (!state_) return;
  state_->sums.Clear();
  state_->episode = 0;
}

Released<SparseEstimate> SparseStream::estimate() const {
  return Released<SparseEstimate>(state_ ? state_->belief.estimate : SparseEstimate());
}
// PROOF: sparse_served end

void SparseStream::Encode(ByteWriter& out) const {
  out.U8(state_ ? 1 : 0);
  if (!state_) return;
  out.U64(state_->episode);
  out.F64(state_->belief.residual_abs_max);
  out.U32(static_cast<std::uint32_t>(state_->belief.estimate.size()));
  for (const SparseEntry& entry : state_->belief.estimate) {
    out.I32(entry.coordinate);
    out.F64(entry.value);
  }
  const SealedState sealed = state_->sums.Seal();
  out.U64(sealed.bytes().size());
  out.Fixed(sealed.bytes());
}

absl::Status SparseStream::Decode(ByteReader& in, const Fliphat& model) {
  if (in.U8() == 0) return in.ok() ? absl::OkStatus() : DataLoss("checkpoint: no sparse state");
  FliphatState state = model.Start();
  state.episode = in.U64();
  state.belief.residual_abs_max = in.F64();
  const std::uint32_t entries = in.U32();
  if (entries > static_cast<std::uint32_t>(model.options().sparsity)) {
    return DataLoss("checkpoint: a sparse estimate has ", entries, " entries, the model at most ",
                    model.options().sparsity);
  }
  for (std::uint32_t i = 0; i < entries; ++i) {
    SparseEntry& entry = state.belief.estimate.emplace_back();
    entry.coordinate = in.I32();
    entry.value = in.F64();
  }
  const std::string_view sealed = in.Block();
  if (!in.ok()) return DataLoss("checkpoint: the sparse state is truncated");
  BANDANA_RETURN_IF_ERROR(CheckBelief(state.belief, model.options()));
  BANDANA_ASSIGN_OR_RETURN(state.sums,
                           SparseSums::Restore(model.options().dimension, AsBytes(sealed)));
  if (state.episode > Fliphat::kEpisodesMax || state.sums.rows() >= std::uint64_t{1}
                                                                        << state.episode) {
    return DataLoss("checkpoint: episode ", state.episode, " of a sparse model has ",
                    state.sums.rows(), " events");
  }
  state_ = std::move(state);
  return absl::OkStatus();
}

}  // namespace bandana
