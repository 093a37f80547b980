#include "server/models/folder/checkpoint.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "common/bandits/fading.h"
#include "common/base/bytes.h"
#include "common/base/check.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "server/models/folder/digested_pieces.h"

namespace bandana::server {
namespace {

constexpr std::string_view kCheckpointMagic = "BANDCKPT";
constexpr std::uint32_t kCheckpointVersion = 6;
// A part that not every model has makes the version greater by its bit.
constexpr std::uint32_t kEffectsBit = 1;
constexpr std::uint32_t kDeletedBit = 2;
constexpr std::uint32_t kFadingBit = 4;
constexpr std::uint32_t kAheadBit = 8;
constexpr std::uint32_t kNotesBit = 16;
constexpr std::uint32_t kVersionMax =
    kCheckpointVersion + kEffectsBit + kDeletedBit + kFadingBit + kAheadBit + kNotesBit;
constexpr std::uint32_t kVersionOfCells = 6;  // from it on open windows do not say what they hold
constexpr std::uint32_t kVersionOfNoise =
    6;  // from it on identities of central models name `noise`

bool Has(std::uint32_t version, std::uint32_t bit) {
  return version >= kCheckpointVersion && ((version - kCheckpointVersion) & bit) != 0;
}

// The form of nodes.
constexpr std::uint8_t kNamed = 1;
constexpr std::uint8_t kEventsOnly = 2;
constexpr std::uint8_t kFading = 4;

void PutWindows(ByteWriter& out, const OpenWindows& windows, bool keyed) {
  out.U64(windows.all().size());
  for (const auto& [key, window] : windows.all()) {
    out.I64(absl::ToUnixNanos(key.first));
    out.U64(key.second);
    out.Fixed(window.id);
    out.I32(window.node);
    out.Block(window.features);
    if (keyed) out.Block(window.keys);
  }
}

absl::Status TakeWindows(ByteReader& in, Checkpoint& checkpoint) {
  const std::uint64_t count = in.U64();
  for (std::uint64_t i = 0; i < count && in.ok(); ++i) {
    OpenWindows::Key key;
    key.first = absl::FromUnixNanos(in.I64());
    key.second = in.U64();
    OpenWindow window;
    in.Fixed(window.id);
    window.node = in.I32();
    if (checkpoint.version < kVersionOfCells) {
      WindowValue& value = checkpoint.former[window.id];
      value.reported = in.U8() != 0;
      value.reward = in.F64();
    }
    window.features = in.Block();
    if (Has(checkpoint.version, kEffectsBit)) window.keys = in.Block();
    if (window.features.size() != static_cast<std::size_t>(checkpoint.dimension) * sizeof(double)) {
      return DataLoss("checkpoint: an open window has a wrong shape");
    }
    const bool emptied = window.node == -1 && Has(checkpoint.version, kDeletedBit);
    const auto node = static_cast<std::size_t>(window.node);
    if (!emptied && (window.node < 0 || node >= checkpoint.statistics.size())) {
      return DataLoss("checkpoint: an open window is of no node");
    }
    if (checkpoint.state.windows.Find(window.id) != nullptr ||
        checkpoint.state.windows.all().contains(key)) {
      return DataLoss("checkpoint: a window is open twice");
    }
    checkpoint.state.windows.Open(key, std::move(window));
  }
  return absl::OkStatus();
}

bool HasEffects(const CheckpointSource& source) {
  return source.state->effects != nullptr || !source.effects.empty();
}

bool HasNotes(const CheckpointSource& source) {
  return source.state->notes != nullptr || !source.notes.empty();
}

bool HasDeleted(const CheckpointSource& source) {
  const auto& windows = source.state->windows.all();
  return !source.state->deleted.empty() ||
         std::any_of(windows.begin(), windows.end(), [](auto& one) { return one.second.node < 0; });
}

std::uint32_t VersionOf(const CheckpointSource& source) {
  return kCheckpointVersion + (HasEffects(source) ? kEffectsBit : 0) +
         (HasDeleted(source) ? kDeletedBit : 0) + (source.state->fading.begun() ? kFadingBit : 0) +
         (source.state->ahead > absl::ZeroDuration() ? kAheadBit : 0) +
         (HasNotes(source) ? kNotesBit : 0);
}

struct NodesPart {
  int nodes = 0;
  bool events_only = false;
  bool fading = false;
  const UserIndex* users = nullptr;
  std::uint32_t removed = 0;  // as of this moment of `users`
  const std::vector<std::uint64_t>& at_epoch;
};

template <typename StatisticsOf>
absl::Status PutNodes(PieceWriter& pieces, const NodesPart& part, StatisticsOf statistics_of) {
  ByteWriter& out = pieces.out();
  out.U32(static_cast<std::uint32_t>(part.nodes));
  out.U8((part.users != nullptr ? kNamed : 0) | (part.events_only ? kEventsOnly : 0) |
         (part.fading ? kFading : 0));
  for (int node = 0; node < part.nodes; ++node) {
    const NodeStatistics& s = statistics_of(node);
    if (part.users != nullptr) out.Block(part.users->Name(node, part.removed));
    out.U64(s.events);
    out.U64(static_cast<std::size_t>(node) < part.at_epoch.size() ? part.at_epoch[node] : 0);
    if (part.fading) {
      out.U64(s.steps);
      out.F64(s.noise_faded);
    }
    out.Doubles(s.gram);
    out.Doubles(s.moment);
    BANDANA_RETURN_IF_ERROR(pieces.Pass());
  }
  return absl::OkStatus();
}

absl::Status TakeNodes(ByteReader& in, Checkpoint& checkpoint) {
  const std::uint32_t nodes = in.U32();
  const std::uint8_t form = in.U8();
  const bool named = (form & kNamed) != 0;
  const bool fading = (form & kFading) != 0;
  checkpoint.events_only = (form & kEventsOnly) != 0;
  if (!checkpoint.events_only && checkpoint.dimension > kDimensionMax) {
    return DataLoss("checkpoint: of wrong dimension");
  }
  const auto d = static_cast<std::size_t>(checkpoint.events_only ? 0 : checkpoint.dimension);
  // Bounds what is allocated by what is there.
  const std::size_t bytes_each = 16 + (d * (d + 1) / 2 + d) * sizeof(double);
  if (!in.ok() || nodes > in.remaining() / bytes_each) {
    return DataLoss("checkpoint: ", nodes, " nodes do not fit");
  }
  for (std::uint32_t node = 0; node < nodes; ++node) {
    if (named) checkpoint.users.emplace_back(in.Block());
    NodeStatistics& s = checkpoint.statistics.emplace_back();
    s.events = in.U64();
    checkpoint.state.events_at_epoch.push_back(in.U64());
    if (fading) {
      s.steps = in.U64();
      s.noise_faded = in.F64();
    }
    s.gram.resize(d * (d + 1) / 2);
    s.moment.resize(d);
    in.Doubles(s.gram);
    in.Doubles(s.moment);
  }
  return absl::OkStatus();
}

void PutStreams(ByteWriter& out, const CheckpointSource& source) {
  const ModelState& state = *source.state;
  state.ledger.Encode(out);
  state.local.Encode(out);
  std::string central(source.central);
  ByteWriter central_out(central);
  if (central.empty()) state.central.Encode(central_out);
  out.Block(central);
  out.U64(source.published.sequence);
  out.Fixed(source.published.hash);
}

void PutSparse(ByteWriter& out, const CheckpointSource& source) {
  std::string sparse(source.sparse);
  ByteWriter sparse_out(sparse);
  if (sparse.empty()) source.state->sparse.Encode(sparse_out);
  out.Block(sparse);
}

void PutEffects(ByteWriter& out, const CheckpointSource& source) {
  std::string effects(source.effects);
  ByteWriter effects_out(effects);
  if (effects.empty() && source.state->effects != nullptr)
    source.state->effects->Encode(effects_out);
  out.Block(effects);
}

void PutNotes(ByteWriter& out, const CheckpointSource& source) {
  std::string notes(source.notes);
  ByteWriter notes_out(notes);
  if (notes.empty() && source.state->notes != nullptr) source.state->notes->Encode(notes_out);
  out.Block(notes);
}

void PutFading(ByteWriter& out, const Fading& fading) {
  out.I64(absl::ToUnixNanos(fading.time()));
  out.I64(absl::ToInt64Nanoseconds(fading.half_life()));
  out.U64(fading.steps());
}

absl::Status TakeFading(ByteReader& in, ModelState& state) {
  const absl::Time time = absl::FromUnixNanos(in.I64());
  const absl::Duration half_life = absl::Nanoseconds(in.I64());
  const std::uint64_t steps = in.U64();
  const bool fades = half_life != absl::ZeroDuration();
  if (!in.ok() || time < absl::UnixEpoch() || (fades && half_life < absl::Hours(1))) {
    return DataLoss("checkpoint: the fading is truncated or none");
  }
  state.fading = Fading(time, half_life, steps);
  return absl::OkStatus();
}

absl::Status TakeStreams(ByteReader& in, Checkpoint& checkpoint) {
  BANDANA_RETURN_IF_ERROR(checkpoint.state.ledger.Decode(in));
  BANDANA_RETURN_IF_ERROR(checkpoint.state.local.Decode(in, checkpoint.dimension));
  checkpoint.central = in.Block();
  checkpoint.published.sequence = in.U64();
  in.Fixed(checkpoint.published.hash);
  return absl::OkStatus();
}

void PutShape(ByteWriter& out, const std::optional<UserShape>& shape) {
  out.I32(shape ? shape->nodes : 0);
  if (shape) out.Doubles(shape->root);
}

absl::Status TakeShape(ByteReader& in, int nodes, std::optional<UserShape>& shape) {
  UserShape taken{.nodes = in.I32()};
  if (!in.ok() || taken.nodes == 0) return absl::OkStatus();
  if (taken.nodes != nodes || nodes > kNodesMax)
    return DataLoss("checkpoint: a shape does not fit");
  const auto n = static_cast<std::uint64_t>(nodes);
  const std::string_view root = in.Take(n * n * sizeof(double));
  if (!in.ok()) return DataLoss("checkpoint: the shape is truncated");
  taken.root.resize(n * n);
  std::memcpy(taken.root.data(), root.data(), root.size());
  BANDANA_RETURN_IF_ERROR(CheckShape(taken, nodes));
  shape = std::move(taken);
  return absl::OkStatus();
}

template <typename Encode>
auto EncodeBy(const Checkpoint& checkpoint, const Encode& encode) {
  UserIndex users;
  for (const std::string& user : checkpoint.users) users.Restore(user);
  CheckpointSource source{.instance = checkpoint.instance,
                          .fixed = checkpoint.fixed,
                          .dimension = checkpoint.dimension,
                          .events_only = checkpoint.events_only,
                          .state = &checkpoint.state,
                          .nodes = static_cast<int>(checkpoint.statistics.size()),
                          .counters = checkpoint.counters,
                          .central = checkpoint.central,
                          .sparse = checkpoint.sparse,
                          .effects = checkpoint.effects,
                          .notes = checkpoint.notes,
                          .published = checkpoint.published};
  source.statistics = [&](int node) -> const NodeStatistics& {
    return checkpoint.statistics[node];
  };
  // A model without users yet is independent or not: the flag matters only with names.
  if (!checkpoint.users.empty()) source.users = &users;
  return encode(source);
}

void PutHead(ByteWriter& out, const CheckpointSource& source) {
  const ModelState& state = *source.state;
  out.Fixed(AsBytes(kCheckpointMagic));
  out.U32(VersionOf(source));
  out.Fixed(source.instance);
  out.Fixed(source.fixed);
  out.U64(state.position.sequence);
  out.Fixed(state.position.hash);
  out.U64(state.epoch);
  out.I64(absl::ToUnixNanos(state.time));
  out.Block(state.graph);
  out.Block(source.counters);
  out.U32(static_cast<std::uint32_t>(source.dimension));
}

void PutTail(ByteWriter& out, const CheckpointSource& source) {
  const ModelState& state = *source.state;
  const std::uint32_t version = VersionOf(source);
  PutWindows(out, state.windows, Has(version, kEffectsBit));
  PutStreams(out, source);
  state.held.Encode(out);
  PutShape(out, state.shape);
  PutSparse(out, source);
  if (Has(version, kDeletedBit)) state.deleted.Encode(out);
  if (Has(version, kFadingBit)) PutFading(out, state.fading);
  if (Has(version, kAheadBit)) out.I64(absl::ToInt64Nanoseconds(state.ahead));
  if (Has(version, kNotesBit)) PutNotes(out, source);
}

}  // namespace

std::string EncodeCheckpoint(const CheckpointSource& source) {
  std::string bytes;
  const auto d = static_cast<std::size_t>(source.events_only ? 0 : source.dimension);
  bytes.reserve(1024 + source.nodes * (64 + (d * (d + 1) / 2 + d) * sizeof(double)));
  const absl::Status appended = EncodeCheckpoint(source, [&](std::string_view piece) {
    bytes += piece;
    return absl::OkStatus();
  });
  BANDANA_CHECK(appended.ok());
  return bytes;
}

absl::Status EncodeCheckpoint(const CheckpointSource& source, const ByteSink& sink) {
  DigestedPieces pieces(sink);
  PutHead(pieces.out(), source);
  const NodesPart part{source.nodes,
                       source.events_only,
                       source.state->fading.begun(),
                       source.users,
                       source.users != nullptr ? source.users->removed() : 0,
                       source.state->events_at_epoch};
  BANDANA_RETURN_IF_ERROR(PutNodes(pieces.pieces(), part, source.statistics));
  PutTail(pieces.out(), source);
  if (HasEffects(source)) PutEffects(pieces.out(), source);
  return pieces.Finish();
}

FrozenCheckpoint::FrozenCheckpoint(const CheckpointSource& source,
                                   std::shared_ptr<const FrozenStatistics> statistics)
    : sequence_(source.state->position.sequence),
      events_only_(source.events_only),
      fading_(source.state->fading.begun()),
      users_(source.users),
      removed_(source.users != nullptr ? source.users->removed() : 0),
      events_at_epoch_(source.state->events_at_epoch),
      statistics_(std::move(statistics)) {
  ByteWriter head(head_);
  PutHead(head, source);
  ByteWriter tail(tail_);
  PutTail(tail, source);
  if (source.effects.empty() && source.state->effects != nullptr)
    effects_ = FrozenEffects::Take(source.state->effects);
  if (effects_ == nullptr && HasEffects(source)) PutEffects(tail, source);
}

Sha256Digest FrozenCheckpoint::BesideTheLog() const {
  return Sha256().Update(head_).Update(Sha256Of(tail_)).Finish();
}

absl::Status FrozenCheckpoint::Encode(const ByteSink& sink) const {
  DigestedPieces pieces(sink);
  pieces.out().Fixed(AsBytes(head_));
  const NodesPart part{statistics_->nodes(), events_only_, fading_, users_, removed_,
                       events_at_epoch_};
  NodeStatistics scratch;
  BANDANA_RETURN_IF_ERROR(PutNodes(pieces.pieces(), part, [&](int node) -> const NodeStatistics& {
    return statistics_->Of(node, scratch);
  }));
  BANDANA_RETURN_IF_ERROR(pieces.pieces().Flush());
  pieces.out().Fixed(AsBytes(tail_));
  if (effects_ != nullptr) {
    BANDANA_RETURN_IF_ERROR(effects_->EncodeBlock([&](std::string_view bytes) {
      pieces.out().Fixed(AsBytes(bytes));
      return pieces.pieces().Pass();
    }));
  }
  return pieces.Finish();
}

std::string FrozenCheckpoint::Encode() const {
  std::string bytes;
  if (const int nodes = statistics_->nodes(); nodes > 0) {
    NodeStatistics scratch;
    const NodeStatistics& first = statistics_->Of(0, scratch);
    const std::size_t doubles = first.gram.size() + first.moment.size();
    bytes.reserve(head_.size() + tail_.size() +
                  static_cast<std::size_t>(nodes) * (64 + doubles * sizeof(double)));
  }
  const absl::Status appended = Encode([&](std::string_view piece) {
    bytes += piece;
    return absl::OkStatus();
  });
  BANDANA_CHECK(appended.ok());
  return bytes;
}

absl::StatusOr<CheckpointExtent> ExtentOf(std::string_view bytes) {
  ByteReader in(bytes);
  const bool is_checkpoint = in.Take(kCheckpointMagic.size()) == kCheckpointMagic;
  in.U32();  // version: its place is the same in all
  InstanceId instance{};
  Sha256Digest digest{};
  in.Fixed(instance);
  in.Fixed(digest);
  in.U64();
  in.Fixed(digest);
  in.U64();
  in.I64();
  in.Block();
  in.Block();
  const std::uint32_t dimension = in.U32();
  const std::uint32_t nodes = in.U32();
  if (!is_checkpoint || !in.ok()) return DataLoss("checkpoint: truncated, or not a checkpoint");
  if (dimension < 1 || dimension > kSparseDimensionMax) {
    return DataLoss("checkpoint: of wrong dimension");
  }
  return CheckpointExtent{static_cast<int>(dimension), nodes};
}

absl::StatusOr<Checkpoint> DecodeCheckpoint(std::string_view bytes) {
  Sha256Digest digest{};
  if (bytes.size() < kCheckpointMagic.size() + digest.size())
    return DataLoss("checkpoint: truncated");
  const std::string_view body = bytes.substr(0, bytes.size() - digest.size());
  ByteReader(bytes.substr(body.size())).Fixed(digest);
  if (Sha256Of(body) != digest) return DataLoss("checkpoint: checksum mismatch");
  ByteReader in(body);
  if (in.Take(kCheckpointMagic.size()) != kCheckpointMagic)
    return DataLoss("checkpoint: not a checkpoint");
  const std::uint32_t version = in.U32();
  if (version < 1 || version > kVersionMax) {
    return DataLoss("checkpoint: unknown version ", version);
  }
  Checkpoint checkpoint;
  checkpoint.version = version;
  ModelState& state = checkpoint.state;
  in.Fixed(checkpoint.instance);
  in.Fixed(checkpoint.fixed);
  state.position.sequence = in.U64();
  in.Fixed(state.position.hash);
  state.epoch = in.U64();
  state.time = absl::FromUnixNanos(in.I64());
  state.graph = in.Block();
  checkpoint.counters = in.Block();
  checkpoint.dimension = static_cast<int>(in.U32());
  if (!in.ok() || checkpoint.dimension < 1 || checkpoint.dimension > kSparseDimensionMax) {
    return DataLoss("checkpoint: truncated or of wrong dimension");
  }
  BANDANA_RETURN_IF_ERROR(TakeNodes(in, checkpoint));
  BANDANA_RETURN_IF_ERROR(TakeWindows(in, checkpoint));
  if (version >= 2) BANDANA_RETURN_IF_ERROR(TakeStreams(in, checkpoint));
  if (version >= 3) BANDANA_RETURN_IF_ERROR(state.held.Decode(in, checkpoint.dimension));
  if (version >= 4) {
    const int nodes = static_cast<int>(checkpoint.statistics.size());
    BANDANA_RETURN_IF_ERROR(TakeShape(in, nodes, state.shape));
  }
  if (version >= 5) checkpoint.sparse = in.Block();
  if (Has(version, kDeletedBit)) BANDANA_RETURN_IF_ERROR(state.deleted.Decode(in));
  if (Has(version, kFadingBit)) BANDANA_RETURN_IF_ERROR(TakeFading(in, state));
  if (Has(version, kAheadBit)) state.ahead = absl::Nanoseconds(in.I64());
  if (Has(version, kNotesBit)) checkpoint.notes = in.Block();
  if (Has(version, kEffectsBit)) checkpoint.effects = in.Block();
  for (const NodeStatistics& node : checkpoint.statistics) {
    if (!CheckSteps(node, state.fading.steps()).ok()) {
      return DataLoss("checkpoint: a node has not faded so far");
    }
  }
  if (!in.Done()) return DataLoss("checkpoint: length mismatch");
  return checkpoint;
}

bool IsOfModel(const Checkpoint& checkpoint, const Identity& identity) {
  if (checkpoint.fixed == FixedDigest(identity)) return true;
  return checkpoint.version < kVersionOfNoise && checkpoint.fixed == FormerFixedDigest(identity);
}

absl::Status RestoreStreams(const EventPath& path, Checkpoint& checkpoint) {
  // Nothing has happened.
  if (checkpoint.state.position.sequence == 0) return path.Begin(checkpoint.state);
  BANDANA_RETURN_IF_ERROR(path.RestoreCentral(checkpoint.central, checkpoint.state));
  BANDANA_RETURN_IF_ERROR(path.RestoreSparse(checkpoint.sparse, checkpoint.state));
  BANDANA_RETURN_IF_ERROR(path.RestoreEffects(checkpoint.effects, checkpoint.state));
  BANDANA_RETURN_IF_ERROR(path.RestoreNotes(checkpoint.notes, checkpoint.state));
  checkpoint.notes.clear();
  checkpoint.effects.clear();
  checkpoint.central.clear();
  checkpoint.sparse.clear();
  return absl::OkStatus();
}

std::string EncodeAgain(const Checkpoint& checkpoint) {
  return EncodeBy(checkpoint,
                  [](const CheckpointSource& source) { return EncodeCheckpoint(source); });
}

absl::Status EncodeAgain(const Checkpoint& checkpoint, const ByteSink& sink) {
  return EncodeBy(checkpoint,
                  [&](const CheckpointSource& source) { return EncodeCheckpoint(source, sink); });
}

}  // namespace bandana::server
