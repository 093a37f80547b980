#include "common/bandits/effects/scalar_table.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "common/bandits/effects/float_bytes.h"
#include "common/base/status.h"

namespace bandana {
namespace {

constexpr std::size_t kCellBytes = sizeof(EffectKey) + sizeof(ScalarTable::Cell);

}  // namespace

// absl keeps one more byte per place.
std::size_t ScalarTable::bytes() const { return cells_.capacity() * (kCellBytes + 1); }

ScalarTable::Cell ScalarTable::Find(EffectKey key) const {
  const auto found = cells_.find(key);
  return found != cells_.end() ? found->second : Cell{};
}

void ScalarTable::ForEach(const std::function<void(EffectKey, const Belief&)>& visit) const {
  for (const auto& [key, cell] : cells_) visit(key, BeliefOf(cell));
}

void ScalarTable::Freeze() {
  frozen_ = true;
  frozen_prior_ = prior_variance_;
  kept_.Begin();
}

ScalarTable::State ScalarTable::TakeState() const {
  State state{.prior_variance = frozen_ ? frozen_prior_ : prior_variance_};
  state.cells.reserve(cells_.size());
  for (const auto& [key, cell] : cells_) {
    if (kept_.Find(key) == nullptr) state.cells.emplace_back(key, cell);
  }
  for (const auto& [key, cell] : kept_.changed()) {
    if (cell) state.cells.emplace_back(key, *cell);
  }
  return state;
}

void ScalarTable::EncodeState(State state, ByteWriter& out) {
  std::sort(state.cells.begin(), state.cells.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  WriteFloats(out, std::array{state.prior_variance});
  out.U64(state.cells.size());
  for (const auto& [key, cell] : state.cells) {
    out.U64(key);
    WriteFloats(out, std::array{cell.sum, cell.weight});
  }
}

absl::Status ScalarTable::Decode(ByteReader& in) {
  cells_.clear();
  std::array<float, 1> prior;
  if (!ReadFloats(in, prior) || prior[0] <= 0) return DataLoss("an effect has no prior");
  prior_variance_ = prior[0];
  const std::uint64_t count = in.U64();
  if (!in.ok() || count > in.remaining() / kCellBytes) {
    return DataLoss("an effect's list of cells is cut short");
  }
  absl::flat_hash_map<EffectKey, Cell> cells;
  cells.reserve(count);
  EffectKey last = kAbsent;
  for (std::uint64_t i = 0; i < count; ++i) {
    const EffectKey key = in.U64();
    std::array<float, 2> values;
    if (!ReadFloats(in, values) || values[1] < 0 || key <= last) {
      return DataLoss("cell ", i, " of an effect is no belief of a key after the one before");
    }
    cells.emplace(key, Cell{.sum = values[0], .weight = values[1]});
    last = key;
  }
  cells_ = std::move(cells);
  return absl::OkStatus();
}

}  // namespace bandana
