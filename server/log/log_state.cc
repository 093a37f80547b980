#include "server/log/log_state.h"

#include <cstring>

#include "common/base/status.h"
#include "server/log/bytes.h"

namespace bandana::server {
namespace {

constexpr std::uint8_t kVersion = 1;

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
  out.Block(state.counters);
  out.Fixed(Sha256Of(bytes));
  return bytes;
}

absl::StatusOr<LogState> DecodeLogState(std::string_view bytes) {
  ByteReader in(bytes);
  if (in.U8() != kVersion) return DataLoss("log state: unknown version or damaged");
  LogState state;
  state.last.sequence = in.U64();
  in.Fixed(state.last.hash);
  state.trimmed = in.U64();
  state.forgotten_before = in.I64();
  state.ids = in.U64();
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

}  // namespace bandana::server
