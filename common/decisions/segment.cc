#include "common/decisions/segment.h"

#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "common/base/bytes.h"
#include "common/base/check.h"
#include "common/base/status.h"

namespace bandana {
namespace {

constexpr std::string_view kMagic = "bandana decisions 1\n";
constexpr std::uint8_t kClipped = 1;
constexpr std::uint8_t kClosesWindows = 2;

std::uint32_t Checksum(std::string_view bytes) {
  return static_cast<std::uint32_t>(
      crc32_z(crc32_z(0, nullptr, 0), reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

std::string_view RowOf(std::string_view segment, std::size_t bytes, std::size_t index) {
  return segment.substr(kSegmentHeaderBytes + index * bytes, bytes);
}

std::size_t RowsOf(std::string_view segment, std::size_t bytes) {
  return segment.size() <= kSegmentHeaderBytes ? 0 : (segment.size() - kSegmentHeaderBytes) / bytes;
}

}  // namespace

std::string EncodeHeader(const SegmentHeader& header) {
  std::string bytes(kMagic);
  ByteWriter out(bytes);
  out.U8(static_cast<std::uint8_t>(header.kind));
  out.U8(static_cast<std::uint8_t>(header.form));
  out.U8((header.clipped ? kClipped : 0) | (header.closes_windows ? kClosesWindows : 0));
  out.Fixed(header.instance);
  out.I64(absl::ToUnixNanos(header.made));
  out.F64(header.range.min);
  out.F64(header.range.max);
  out.F64(header.epsilon);
  out.F64(header.low);
  out.F64(header.high);
  out.I64(absl::ToInt64Nanoseconds(header.reported_within));
  out.U64(header.first_sequence);
  BANDANA_CHECK(bytes.size() <= kSegmentHeaderBytes - 4);
  bytes.resize(kSegmentHeaderBytes - 4, '\0');
  ByteWriter(bytes).U32(Checksum(bytes));
  return bytes;
}

absl::StatusOr<SegmentHeader> DecodeHeader(std::string_view segment) {
  if (segment.size() < kSegmentHeaderBytes) return DataLoss("decision log: a header is cut");
  ByteReader in(segment.substr(0, kSegmentHeaderBytes));
  if (in.Take(kMagic.size()) != kMagic) return DataLoss("decision log: not a segment");
  const std::string_view body = segment.substr(0, kSegmentHeaderBytes - 4);
  if (ByteReader(segment.substr(kSegmentHeaderBytes - 4)).U32() != Checksum(body)) {
    return DataLoss("decision log: a header has another checksum");
  }
  SegmentHeader header;
  const std::uint8_t kind = in.U8();
  const std::uint8_t form = in.U8();
  if (kind < 1 || kind > 3 || form > 1) return DataLoss("decision log: a header of another format");
  header.kind = static_cast<SegmentKind>(kind);
  header.form = static_cast<RewardForm>(form);
  const std::uint8_t flags = in.U8();
  header.clipped = (flags & kClipped) != 0;
  header.closes_windows = (flags & kClosesWindows) != 0;
  in.Fixed(header.instance);
  header.made = absl::FromUnixNanos(in.I64());
  header.range = {.min = in.F64(), .max = in.F64()};
  header.epsilon = in.F64();
  header.low = in.F64();
  header.high = in.F64();
  header.reported_within = absl::Nanoseconds(in.I64());
  header.first_sequence = in.U64();
  return header;
}

void AppendFrame(std::string_view decision, std::string& out) {
  BANDANA_CHECK(!decision.empty() && decision.size() <= kFrameBytesMax);
  ByteWriter to(out);
  to.U32(static_cast<std::uint32_t>(decision.size()));
  to.U32(Checksum(decision));
  out.append(decision);
}

std::string ErasedFrame(std::size_t frame_bytes) {
  BANDANA_CHECK(frame_bytes > kFrameHeadBytes);
  std::string frame;
  AppendFrame(std::string(frame_bytes - kFrameHeadBytes, '\0'), frame);
  return frame;
}

FrameCursor::Found FrameCursor::Next() {
  if (end_ + kFrameHeadBytes > segment_.size()) return Found::kEnd;
  ByteReader head(segment_.substr(end_, kFrameHeadBytes));
  const std::size_t bytes = head.U32();
  const std::uint32_t checksum = head.U32();
  if (bytes < 1 || bytes > kFrameBytesMax || bytes > segment_.size() - end_ - kFrameHeadBytes) {
    return Found::kEnd;
  }
  offset_ = end_;
  payload_ = segment_.substr(end_ + kFrameHeadBytes, bytes);
  end_ += kFrameHeadBytes + bytes;
  // Also where a kill has cut the erasing short.
  if (payload_.front() == '\0') return Found::kErased;
  return Checksum(payload_) == checksum ? Found::kDecision : Found::kDamaged;
}

void AppendRow(const UserRow& row, std::string& out) {
  ByteWriter to(out);
  to.Fixed(row.user);
  to.U32(row.offset);
}

void AppendRow(const RewardRow& row, std::uint64_t first_sequence, std::string& out) {
  const std::uint64_t behind = row.sequence - first_sequence;
  BANDANA_CHECK(behind <= 0xffffffff);
  const std::size_t begin = out.size();
  ByteWriter to(out);
  to.U8(static_cast<std::uint8_t>(row.kind));
  to.Fixed(row.decision);
  to.F64(row.value);
  to.U32(static_cast<std::uint32_t>(behind));
  to.U32(row.mark);
  to.U32(Checksum(std::string_view(out).substr(begin)));
}

std::string ErasedRewardRow() { return std::string(kRewardRowBytes, '\0'); }

std::size_t UserRows(std::string_view segment) { return RowsOf(segment, kUserRowBytes); }

UserRow UserRowAt(std::string_view segment, std::size_t index) {
  return UserRowOf(RowOf(segment, kUserRowBytes, index));
}

UserRow UserRowOf(std::string_view bytes) {
  ByteReader in(bytes);
  UserRow row;
  in.Fixed(row.user);
  row.offset = in.U32();
  return row;
}

std::size_t RewardRows(std::string_view segment) { return RowsOf(segment, kRewardRowBytes); }

StoredId RewardDecisionAt(std::string_view segment, std::size_t index) {
  StoredId id;
  std::memcpy(id.data(), RowOf(segment, kRewardRowBytes, index).data() + 1, id.size());
  return id;
}

std::optional<RewardRow> RewardRowAt(std::string_view segment, std::uint64_t first_sequence,
                                     std::size_t index) {
  const std::string_view bytes = RowOf(segment, kRewardRowBytes, index);
  ByteReader in(bytes);
  RewardRow row;
  const std::uint8_t kind = in.U8();
  if (kind < 1 || kind > 3) return std::nullopt;
  row.kind = static_cast<RewardKind>(kind);
  in.Fixed(row.decision);
  row.value = in.F64();
  const std::uint32_t behind = in.U32();
  row.sequence = first_sequence + behind;
  row.mark = in.U32();
  if (in.U32() != Checksum(bytes.substr(0, kRewardRowBytes - 4)) || !std::isfinite(row.value)) {
    return std::nullopt;
  }
  return row;
}

}  // namespace bandana
