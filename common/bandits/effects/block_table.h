// The blocks of one effect of the features: per key a Gaussian belief about d coefficients.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/bandits/effects/forgetting.h"
#include "common/bandits/effects/kept_values.h"
#include "common/base/bytes.h"
#include "common/ranking/effect_key.h"

namespace bandana {

// Per key N(m, P); before its first event N(0, p I), which takes no memory. P is kept as the
// vectors w of P = p I - sum w w' while these are no more numbers than its triangle, then as the
// triangle. Vectors have lanes() floats, those beyond the dimension zero. Not thread-safe; const
// methods are while nobody writes.
class BlockTable {
 public:
  // Where a key's block lies; without a block the prior.
  struct Place {
    std::uint32_t handle = 0;   // 0 nowhere, else pool + 1 in the low 4 bits, its index above
    std::uint16_t vectors = 0;  // in the list; 0 once there is a triangle
    std::uint16_t prior = 0;    // under which it was learnt: position in priors_
  };

  // `dimension` in [1, kDimensionMax]; `prior_variance` > 0, finite. Errors: INVALID_ARGUMENT.
  static absl::StatusOr<BlockTable> Create(int dimension, float prior_variance);

  int dimension() const { return static_cast<int>(dimension_); }
  std::size_t lanes() const { return lanes_; }
  float prior_variance() const { return priors_.back(); }
  // Another prior for what is learnt from now on, > 0, finite. A block takes it over when it is
  // opened next; until then it is read as it is. No more than 1,000 times.
  void SetPrior(float prior_variance) { priors_.push_back(prior_variance); }
  std::uint64_t blocks() const { return places_.size(); }  // that an event has touched
  std::size_t bytes() const;                               // held

  // Starts reading a key's place, or a place's block, into the cache.
  void Prefetch(EffectKey key) const { places_.prefetch(key); }
  void Prefetch(Place place) const;

  bool Has(EffectKey key) const { return places_.contains(key); }
  Place Find(EffectKey key) const;
  // As Find, but the block is kept from now on and under the present prior. The reference lives
  // until the next call of Open, Erase or Decode.
  Place& Open(EffectKey key);

  // y = P z; returns z'm.
  float Project(Place place, const float* z, float* y) const;
  // m'y.
  float AlongMean(Place place, const float* y) const;
  // m += gain y and P -= (scale y) (scale y)', for the y of Project. `place`: of Open.
  void Learn(Place& place, const float* y, float gain, float scale);
  // One step of forgetting: towards the prior.
  void Forget(Place place, const Forgetting& forgetting);
  // mean += weight m, packed rows of the covariance (block_kernels.h) += weight^2 P.
  void AddTo(Place place, float* mean, float* rows, float weight = 1) const;
  // Length of each block's mean, in no order.
  void ForEachLength(const std::function<void(EffectKey, float)>& visit) const;
  // Back to the prior; whether there was a block.
  bool Erase(EffectKey key);

  // The priors; the keys, forms and priors of all blocks in the order of the keys; then each block.
  void Encode(ByteWriter& out) const;
  // As Encode, in parts, for a table that is large: TakeIndex, which a caller sorts (SortIndex),
  // then EncodeIndex, then EncodeBlock of each entry. From Freeze to Thaw they are those at Freeze,
  // whatever the table learns between two calls.
  static constexpr std::uint32_t kTriangleForm = 0xffffffff;
  struct Entry {
    EffectKey key = kAbsent;
    std::uint32_t form = 0;  // the number of vectors, or kTriangleForm
    std::uint32_t prior = 0;
  };
  struct Index {
    std::vector<float> priors;
    std::vector<Entry> entries;
    std::uint64_t floats = 0;  // of all blocks together, as they are encoded
  };
  void Freeze();
  void Thaw() {
    frozen_priors_ = 0;
    kept_.End();
  }
  Index TakeIndex() const;
  static void SortIndex(Index& index);
  static void EncodeIndex(const Index& index, ByteWriter& out);
  void EncodeBlock(const Entry& entry, ByteWriter& out) const;
  // Errors: DATA_LOSS, and the table is empty.
  absl::Status Decode(ByteReader& in);

 private:
  // Blocks of one size, in chunks that do not move.
  struct Pool {
    std::size_t floats = 0;        // per block: mean, then vectors or packed rows
    std::uint32_t capacity = 0;    // vectors that fit; 0: packed rows
    std::uint32_t per_chunk = 1;   // blocks, a power of 2
    std::uint32_t chunk_bits = 0;  // its logarithm
    std::vector<std::unique_ptr<float[]>> chunks;
    std::uint32_t used = 0;           // blocks handed out so far
    std::vector<std::uint32_t> free;  // of these, given back
  };

  BlockTable(std::size_t dimension, float prior_variance);
  const Pool& PoolOf(Place place) const { return pools_[(place.handle & 15) - 1]; }
  // A block as it was, encoded.
  struct Was {
    Entry entry;
    std::string block;
  };
  Entry EntryOf(EffectKey key, Place place) const;
  std::uint64_t FloatsOf(std::uint32_t form) const;
  void EncodeBlockAt(Place place, ByteWriter& out) const;
  void Keep(EffectKey key);
  bool has_rows(Place place) const { return (place.handle & 15) == pools_.size(); }
  float* At(Place place) const;
  std::uint32_t Take(std::size_t pool);
  void Give(std::uint32_t handle);
  void Grow(Place& place);
  void Rebase(Place& place);
  absl::Status DecodeBlocks(ByteReader& in);
  void AddCovariance(Place place, float weight, float* rows) const;
  bool DecodeTriangle(ByteReader& in, float* rows) const;
  absl::Status DecodePriors(ByteReader& in);
  bool DecodeBlock(ByteReader& in, std::uint32_t form, std::uint32_t prior, Place& place);
  void Clear();

  std::size_t dimension_;
  std::size_t lanes_;
  std::size_t rows_;           // floats of a packed covariance
  std::vector<float> priors_;  // all so far; the last one is the present one
  std::vector<Pool> pools_;
  absl::flat_hash_map<EffectKey, Place> places_;
  std::size_t frozen_priors_ = 0;  // how many there were at Freeze; 0: not frozen
  KeptValues<EffectKey, Was> kept_;
};

}  // namespace bandana
