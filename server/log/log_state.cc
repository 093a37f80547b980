#include "server/log/log_state.h"

#include <cstring>
#include <span>

#include "common/base/bytes.h"
#include "common/base/status.h"

namespace bandana::server {
namespace {

constexpr std::uint8_t kVersion = 3;
constexpr std::size_t kCheckBytes = 8;

std::string CellCheck(std::uint64_t slot, std::string_view row) {
  std::string bytes;
  ByteWriter out(bytes);
  out.U64(slot);
  out.Fixed(AsBytes(row));
  return std::string(AsChars(Sha256Of(bytes)).substr(0, kCheckBytes));
}

std::string ChunkCheck(const IdChunk& chunk, std::string_view bits) {
  std::string bytes;
  ByteWriter out(bytes);
  out.U64(chunk.issuer);
  out.U8(chunk.kind);
  out.U64(chunk.number);
  out.I64(chunk.newest);
  out.Fixed(AsBytes(bits));
  return std::string(AsChars(Sha256Of(bytes)).substr(0, kCheckBytes));
}

}  // namespace

std::string EncodeLogState(const LogState& state) {
  std::string bytes;
  ByteWriter out(bytes);
  out.U8(kVersion);
  out.U64(state.last.sequence);
  out.Fixed(state.last.hash);
  out.U64(state.trimmed);
  out.I64(state.forgotten_before);
  out.U64(state.ids);
  out.U64(state.cells);
  out.U64(state.chunks);
  out.Block(state.counters);
  out.Fixed(Sha256Of(bytes));
  return bytes;
}

absl::StatusOr<LogState> DecodeLogState(std::string_view bytes) {
  ByteReader in(bytes);
  const std::uint8_t version = in.U8();
  if (version < 1 || version > kVersion) {
    return DataLoss("log state: unknown version or damaged");
  }
  LogState state;
  state.last.sequence = in.U64();
  in.Fixed(state.last.hash);
  state.trimmed = in.U64();
  state.forgotten_before = in.I64();
  state.ids = in.U64();
  if (version >= 2) state.cells = in.U64();
  if (version >= 3) state.chunks = in.U64();
  state.counters = in.Block();
  Sha256Digest digest{};
  in.Fixed(digest);
  if (!in.Done() || digest != Sha256Of(bytes.substr(0, bytes.size() - digest.size()))) {
    return DataLoss("log state: checksum mismatch");
  }
  return state;
}

std::int64_t IdCheck(const RememberedId& id, std::uint64_t sequence) {
  thread_local std::string bytes;
  bytes.clear();
  ByteWriter out(bytes);
  out.I64(id.bucket);
  out.U64(sequence);
  out.U8(id.kind);
  out.Fixed(id.id);
  const Sha256Digest digest = Sha256Of(bytes);
  std::int64_t check = 0;
  std::memcpy(&check, digest.data(), sizeof check);
  return check;
}

std::string EncodeChunk(const IdChunk& chunk) {
  std::string row;
  ByteWriter out(row);
  out.Fixed(std::as_bytes(std::span(chunk.bits)));
  row += ChunkCheck(chunk, row);
  return row;
}

absl::Status DecodeChunk(std::string_view row, IdChunk& chunk) {
  ByteReader in(row);
  in.Fixed(std::as_writable_bytes(std::span(chunk.bits)));
  const std::string_view check = in.Take(kCheckBytes);
  if (in.Done() && check == ChunkCheck(chunk, row.substr(0, row.size() - kCheckBytes))) {
    return absl::OkStatus();
  }
  return DataLoss("chunk ", chunk.number, " of decision ids: checksum mismatch");
}

std::string EncodeCell(const Cell& cell) {
  std::string row;
  ByteWriter out(row);
  out.U8(cell.live ? 1 : 0);
  out.Fixed(cell.id);
  out.Fixed(cell.content);
  row += CellCheck(cell.slot, row);
  return row;
}

absl::StatusOr<Cell> DecodeCell(std::uint64_t slot, std::string_view row) {
  Cell cell{.slot = slot};
  ByteReader in(row);
  const std::uint8_t live = in.U8();
  in.Fixed(cell.id);
  in.Fixed(cell.content);
  const std::string_view check = in.Take(kCheckBytes);
  if (!in.Done() || live > 1 || check != CellCheck(slot, row.substr(0, row.size() - kCheckBytes))) {
    return DataLoss("cell ", slot, " of the log: checksum mismatch");
  }
  cell.live = live == 1;
  const Cell free{.slot = slot};
  if (!cell.live && cell != free)
    return DataLoss("cell ", slot, " of the log is free and not empty");
  return cell;
}

}  // namespace bandana::server
