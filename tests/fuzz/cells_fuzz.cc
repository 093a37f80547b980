// Cells of open decisions: any row with a fitting checksum is a cell with one encoding, or an
// error, and any content is what it says, or an error.
#include <cstddef>
#include <cstdint>
#include <string>

#include "common/base/bytes.h"
#include "common/base/check.h"
#include "common/base/sha256.h"
#include "common/model/state/cell_codec.h"
#include "common/random/bit_source.h"
#include "server/log/log_state.h"

namespace {

using namespace bandana;          // NOLINT
using namespace bandana::server;  // NOLINT

constexpr std::uint64_t kSlot = 5;

std::string WithCheck(std::string row) {
  std::string checked;
  ByteWriter out(checked);
  out.U64(kSlot);
  checked += row;
  return row.append(AsChars(Sha256Of(checked)).substr(0, 8));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const std::string row = WithCheck(bytes);
  const auto cell = DecodeCell(kSlot, row);
  if (!cell.ok()) return 0;
  BANDANA_CHECK(EncodeCell(*cell) == row);
  BANDANA_CHECK(!DecodeCell(kSlot + 1, row).ok());
  const CellCodec plain({}, std::nullopt, SystemBits());
  const auto value = plain.Decode(cell->id, cell->content);
  if (value.ok()) BANDANA_CHECK(*plain.Encode(cell->id, *value) == cell->content);
  // Nobody without the key makes a sealed one.
  CellKey key{};
  key.fill(std::byte{1});
  BANDANA_CHECK(!CellCodec({}, key, SystemBits()).Decode(cell->id, cell->content).ok());
  return 0;
}
