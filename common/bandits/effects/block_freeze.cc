// Blocks as they were at one moment, while the table learns.
#include <algorithm>
#include <optional>

#include "common/bandits/effects/block_kernels.h"
#include "common/bandits/effects/block_table.h"
#include "common/bandits/effects/float_bytes.h"
#include "common/base/sha256.h"

namespace bandana {

void BlockTable::Freeze() {
  frozen_priors_ = priors_.size();
  kept_.Begin();
}

BlockTable::Entry BlockTable::EntryOf(EffectKey key, Place place) const {
  return {
      .key = key, .form = has_rows(place) ? kTriangleForm : place.vectors, .prior = place.prior};
}

void BlockTable::Keep(EffectKey key) {
  kept_.Changing(key, [&]() -> std::optional<Was> {
    const auto found = places_.find(key);
    if (found == places_.end()) return std::nullopt;
    Was was{.entry = EntryOf(key, found->second), .block = {}};
    ByteWriter out(was.block);
    EncodeBlockAt(found->second, out);
    return was;
  });
}

// Floats of the mean, then of the vectors or of the triangle's rows.
std::uint64_t BlockTable::FloatsOf(std::uint32_t form) const {
  return form == kTriangleForm ? dimension_ + dimension_ * (dimension_ + 1) / 2
                               : dimension_ * (std::uint64_t{1} + form);
}

BlockTable::Index BlockTable::TakeIndex() const {
  Index index;
  const std::size_t priors = frozen_priors_ > 0 ? frozen_priors_ : priors_.size();
  index.priors.assign(priors_.begin(), priors_.begin() + static_cast<std::ptrdiff_t>(priors));
  index.entries.reserve(places_.size());
  const auto add = [&](const Entry& entry) {
    index.entries.push_back(entry);
    index.floats += FloatsOf(entry.form);
  };
  for (const auto& [key, place] : places_) {
    if (kept_.Find(key) == nullptr) add(EntryOf(key, place));
  }
  for (const auto& [key, was] : kept_.changed()) {
    if (was) add(was->entry);
  }
  return index;
}

void BlockTable::SortIndex(Index& index) {
  std::sort(index.entries.begin(), index.entries.end(),
            [](const Entry& a, const Entry& b) { return a.key < b.key; });
}

void BlockTable::EncodeIndex(const Index& index, ByteWriter& out) {
  out.U32(static_cast<std::uint32_t>(index.priors.size()));
  WriteFloats(out, index.priors);
  out.U64(index.entries.size());
  for (const Entry& entry : index.entries) {
    out.U64(entry.key);
    out.U32(entry.form);
    out.U32(entry.prior);
  }
}

void BlockTable::EncodeBlock(const Entry& entry, ByteWriter& out) const {
  if (const auto* was = kept_.Find(entry.key); was != nullptr && *was) {
    return out.Fixed(AsBytes((*was)->block));
  }
  EncodeBlockAt(places_.at(entry.key), out);
}

void BlockTable::EncodeBlockAt(Place place, ByteWriter& out) const {
  const float* block = At(place);
  WriteFloats(out, {block, dimension_});
  block += lanes_;
  for (std::uint32_t c = 0; c < place.vectors; ++c, block += lanes_) {
    WriteFloats(out, {block, dimension_});
  }
  for (std::size_t i = 0; has_rows(place) && i < dimension_; ++i) {
    WriteFloats(out, {block, i + 1});
    block += BlockLanes(i + 1);
  }
}

}  // namespace bandana
