#include "server/models/folder/checkpoint_delta.h"

#include <algorithm>
#include <span>
#include <utility>

#include "common/base/bytes.h"
#include "common/base/sha256.h"
#include "common/base/status.h"
#include "server/models/folder/content_chunks.h"
#include "server/models/folder/digested_pieces.h"

namespace bandana::server {
namespace {

constexpr std::string_view kDeltaMagic = "BANDDELT";
constexpr std::uint32_t kDeltaVersion = 1;
// Steps of a delta.
constexpr std::uint8_t kEnd = 0;
constexpr std::uint8_t kFromBase = 1;  // offset u64, length u64
constexpr std::uint8_t kNew = 2;       // block

// Writes steps; neighbours of the base become one.
class Steps {
 public:
  explicit Steps(PieceWriter& pieces) : pieces_(pieces) {}

  absl::Status FromBase(std::uint64_t offset, std::uint64_t length) {
    if (length_ > 0 && offset == offset_ + length_) {
      length_ += length;
      return absl::OkStatus();
    }
    PutPending();
    offset_ = offset;
    length_ = length;
    return pieces_.Pass();
  }

  absl::Status New(std::string_view bytes) {
    PutPending();
    pieces_.out().U8(kNew);
    pieces_.out().Block(bytes);
    return pieces_.Pass();
  }

  void End() {
    PutPending();
    pieces_.out().U8(kEnd);
  }

 private:
  void PutPending() {
    if (length_ == 0) return;
    pieces_.out().U8(kFromBase);
    pieces_.out().U64(offset_);
    pieces_.out().U64(length_);
    length_ = 0;
  }

  PieceWriter& pieces_;
  std::uint64_t offset_ = 0;
  std::uint64_t length_ = 0;
};

absl::Status WriteDelta(const CheckpointIndex& base, const ByteSource& checkpoint,
                        const ByteSink& sink) {
  DigestedPieces file(sink);
  file.out().Fixed(AsBytes(kDeltaMagic));
  file.out().U32(kDeltaVersion);
  file.out().U64(base.sequence());
  Steps steps(file.pieces());
  ContentChunks chunks([&](std::string_view chunk) {
    const std::optional<std::uint64_t> begin = base.Find(chunk);
    return begin ? steps.FromBase(*begin, chunk.size()) : steps.New(chunk);
  });
  BANDANA_RETURN_IF_ERROR(checkpoint([&](std::string_view bytes) { return chunks.Add(bytes); }));
  BANDANA_RETURN_IF_ERROR(chunks.Finish());
  steps.End();
  return file.Finish();
}

absl::Status TakeFromBase(ByteReader& in, const ReadBase& read, std::string& checkpoint) {
  const std::uint64_t offset = in.U64();
  const std::uint64_t length = in.U64();
  if (!in.ok()) return absl::OkStatus();
  const std::size_t before = checkpoint.size();
  // A step at a time, so that a length that is none ends at the base's end and not in memory.
  constexpr std::uint64_t kStep = 1 << 20;
  for (std::uint64_t done = 0; done < length;) {
    const std::uint64_t now = std::min(kStep, length - done);
    checkpoint.resize(before + done + now);
    BANDANA_RETURN_IF_ERROR(read(offset + done, std::span(checkpoint).subspan(before + done, now)));
    done += now;
  }
  return absl::OkStatus();
}

}  // namespace

CheckpointIndex::Key CheckpointIndex::KeyOf(std::string_view chunk) {
  const Sha256Digest digest = Sha256Of(chunk);
  Key key;
  std::copy_n(digest.begin(), key.size(), key.begin());
  return key;
}

absl::StatusOr<CheckpointIndex> CheckpointIndex::Of(std::uint64_t sequence,
                                                    const ByteSource& checkpoint,
                                                    const ByteSink& sink) {
  CheckpointIndex index(sequence);
  ContentChunks chunks([&](std::string_view chunk) {
    index.begins_.try_emplace(KeyOf(chunk), index.bytes_);
    index.bytes_ += chunk.size();
    return absl::OkStatus();
  });
  BANDANA_RETURN_IF_ERROR(checkpoint([&](std::string_view bytes) -> absl::Status {
    BANDANA_RETURN_IF_ERROR(chunks.Add(bytes));
    return sink(bytes);
  }));
  BANDANA_RETURN_IF_ERROR(chunks.Finish());
  return index;
}

std::optional<std::uint64_t> CheckpointIndex::Find(std::string_view chunk) const {
  const auto found = begins_.find(KeyOf(chunk));
  if (found == begins_.end()) return std::nullopt;
  return found->second;
}

ByteSource DeltaTo(const CheckpointIndex& base, ByteSource checkpoint) {
  return [&base, checkpoint = std::move(checkpoint)](const ByteSink& sink) {
    return WriteDelta(base, checkpoint, sink);
  };
}

std::optional<std::uint64_t> BaseOf(std::string_view bytes) {
  ByteReader in(bytes);
  if (in.Take(kDeltaMagic.size()) != kDeltaMagic) return std::nullopt;
  in.U32();
  const std::uint64_t base = in.U64();
  if (!in.ok()) return std::nullopt;
  return base;
}

absl::StatusOr<std::string> ApplyDelta(std::string_view delta, const ReadBase& read) {
  Sha256Digest digest{};
  if (!BaseOf(delta) || delta.size() < digest.size()) {
    return DataLoss("checkpoint: truncated, or not the difference to another one");
  }
  const std::string_view body = delta.substr(0, delta.size() - digest.size());
  ByteReader(delta.substr(body.size())).Fixed(digest);
  if (Sha256Of(body) != digest) return DataLoss("checkpoint: checksum mismatch");
  ByteReader in(body);
  in.Take(kDeltaMagic.size());
  const std::uint32_t version = in.U32();
  if (version != kDeltaVersion)
    return DataLoss("checkpoint: a difference of unknown version ", version);
  in.U64();
  std::string checkpoint;
  for (std::uint8_t step = in.U8(); in.ok() && step != kEnd; step = in.U8()) {
    if (step == kFromBase) {
      BANDANA_RETURN_IF_ERROR(TakeFromBase(in, read, checkpoint));
    } else if (step == kNew) {
      checkpoint += in.Block();
    } else {
      return DataLoss("checkpoint: a difference has an unknown step ", step);
    }
  }
  if (!in.Done()) return DataLoss("checkpoint: a difference has a wrong length");
  return checkpoint;
}

}  // namespace bandana::server
