#include "common/model/state/held_contexts.h"

#include <cstring>
#include <vector>

#include "common/bandits/statistics.h"
#include "common/base/status.h"

namespace bandana {

void HeldContexts::Hold(const Key& key, std::string_view features, double mid) {
  std::vector<double> x(features.size() / sizeof(double));
  std::memcpy(x.data(), features.data(), features.size());
  const auto held = held_.try_emplace(key, EmptyStatistics(static_cast<int>(x.size()))).first;
  AddEvent({.node = key.first, .features = x, .reward = mid}, held->second);
}

std::optional<NodeStatistics> HeldContexts::Take(const Key& key) {
  auto held = held_.extract(key);
  if (held.empty()) return std::nullopt;
  return std::move(held.mapped());
}

void HeldContexts::Encode(ByteWriter& out) const {
  out.U64(held_.size());
  for (const auto& [key, contexts] : held_) {
    out.I32(key.first);
    out.Fixed(key.second);
    out.U64(contexts.events);
    out.Doubles(contexts.gram);
    out.Doubles(contexts.moment);
  }
}

absl::Status HeldContexts::Decode(ByteReader& in, int dimension) {
  const std::uint64_t count = in.U64();
  for (std::uint64_t i = 0; i < count && in.ok(); ++i) {
    Key key{in.I32(), {}};
    in.Fixed(key.second);
    NodeStatistics contexts = EmptyStatistics(dimension);
    contexts.events = in.U64();
    in.Doubles(contexts.gram);
    in.Doubles(contexts.moment);
    held_.emplace(key, std::move(contexts));
  }
  return in.ok() ? absl::OkStatus() : DataLoss("checkpoint: held contexts are truncated");
}

}  // namespace bandana
