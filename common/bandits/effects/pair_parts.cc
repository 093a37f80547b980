#include "common/bandits/effects/pair_parts.h"

#include <iterator>

#include "common/base/status.h"

namespace bandana {

std::vector<PairParts::Pair> PairParts::With(const Keys& keys) const {
  std::vector<Pair> found;
  std::copy_if(pairs_.begin(), pairs_.end(), std::back_inserter(found), [&](const Pair& pair) {
    return keys.contains(pair.user) || keys.contains(pair.arm);
  });
  return found;
}

PairParts::State PairParts::TakeState() const {
  State state;
  state.reserve(pairs_.size());
  for (const Pair& pair : pairs_) {
    if (kept_.Find(pair) == nullptr) state.push_back(pair);
  }
  for (const auto& [pair, there] : kept_.changed()) {
    if (there) state.push_back(pair);
  }
  return state;
}

void PairParts::EncodeState(State state, ByteWriter& out) {
  std::sort(state.begin(), state.end());
  out.U64(state.size());
  for (const Pair& pair : state) {
    out.U64(pair.user);
    out.U64(pair.arm);
  }
}

absl::Status PairParts::Decode(ByteReader& in) {
  pairs_.clear();
  const std::uint64_t count = in.U64();
  if (!in.ok() || count > in.remaining() / sizeof(Pair)) {
    return DataLoss("the list of an effect's pairs is cut short");
  }
  absl::flat_hash_set<Pair> pairs;
  pairs.reserve(count);
  Pair last;
  for (std::uint64_t i = 0; i < count; ++i) {
    Pair pair;
    pair.user = in.U64();
    pair.arm = in.U64();
    if (pair.key() == kAbsent || !(last < pair)) {
      return DataLoss("pair ", i, " of an effect has no parts after those of the one before");
    }
    pairs.insert(pair);
    last = pair;
  }
  pairs_ = std::move(pairs);
  return absl::OkStatus();
}

}  // namespace bandana
