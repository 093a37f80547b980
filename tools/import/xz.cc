#include "tools/import/xz.h"

#include <lzma.h>

#include <array>

#include "common/base/status.h"

namespace bandana {
namespace {

// `xz -9` needs 65 MiB.
constexpr std::uint64_t kDecoderBytesMax = 256ull << 20;

absl::Status ToStatus(lzma_ret result) {
  switch (result) {
    case LZMA_FORMAT_ERROR:
      return DataLoss("not an xz file");
    case LZMA_BUF_ERROR:
      return DataLoss("xz data is truncated");
    case LZMA_MEM_ERROR:
    case LZMA_MEMLIMIT_ERROR:
      return absl::ResourceExhaustedError("xz data needs more than 256 MiB to decompress");
    default:
      return DataLoss("xz data is damaged");
  }
}

// Frees the decoder on every path.
struct Decoder {
  lzma_stream stream = LZMA_STREAM_INIT;
  ~Decoder() { lzma_end(&stream); }
};

}  // namespace

absl::StatusOr<std::string> DecompressXz(std::string_view compressed, std::uint64_t bytes_max) {
  Decoder decoder;
  lzma_stream& stream = decoder.stream;
  lzma_ret result = lzma_stream_decoder(&stream, kDecoderBytesMax, LZMA_CONCATENATED);
  if (result != LZMA_OK) return ToStatus(result);

  stream.next_in = reinterpret_cast<const std::uint8_t*>(compressed.data());
  stream.avail_in = compressed.size();
  std::string content;
  std::array<std::uint8_t, 64 * 1024> block;
  while (result == LZMA_OK) {
    stream.next_out = block.data();
    stream.avail_out = block.size();
    result = lzma_code(&stream, LZMA_FINISH);
    const std::size_t made = block.size() - stream.avail_out;
    if (content.size() + made > bytes_max) {
      return absl::ResourceExhaustedError(
          absl::StrCat("xz data decompresses to more than ", bytes_max, " bytes"));
    }
    content.append(reinterpret_cast<const char*>(block.data()), made);
  }
  if (result != LZMA_STREAM_END) return ToStatus(result);
  return content;
}

}  // namespace bandana
