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

class XzUnpacker final : public Unpacker {
 public:
  XzUnpacker() : result_(lzma_stream_decoder(&stream_, kDecoderBytesMax, LZMA_CONCATENATED)) {}
  ~XzUnpacker() override { lzma_end(&stream_); }
  XzUnpacker(const XzUnpacker&) = delete;
  XzUnpacker& operator=(const XzUnpacker&) = delete;

  absl::Status Take(std::string_view packed, const TextSink& sink) override {
    stream_.next_in = reinterpret_cast<const std::uint8_t*>(packed.data());
    stream_.avail_in = packed.size();
    while (stream_.avail_in > 0) BANDANA_RETURN_IF_ERROR(Step(LZMA_RUN, sink));
    return absl::OkStatus();
  }

  absl::Status Finish(const TextSink& sink) override {
    while (result_ != LZMA_STREAM_END) BANDANA_RETURN_IF_ERROR(Step(LZMA_FINISH, sink));
    return absl::OkStatus();
  }

 private:
  absl::Status Step(lzma_action action, const TextSink& sink) {
    if (result_ == LZMA_OK) {
      stream_.next_out = block_.data();
      stream_.avail_out = block_.size();
      result_ = lzma_code(&stream_, action);
    }
    if (result_ != LZMA_OK && result_ != LZMA_STREAM_END) return ToStatus(result_);
    const std::size_t made = block_.size() - stream_.avail_out;
    return made == 0 ? absl::OkStatus()
                     : sink({reinterpret_cast<const char*>(block_.data()), made});
  }

  lzma_stream stream_ = LZMA_STREAM_INIT;
  lzma_ret result_;
  std::array<std::uint8_t, 64 * 1024> block_;
};

}  // namespace

std::unique_ptr<Unpacker> MakeXzUnpacker() { return std::make_unique<XzUnpacker>(); }

absl::StatusOr<std::string> DecompressXz(std::string_view compressed, std::uint64_t bytes_max) {
  std::string content;
  const auto sink = [&](std::string_view block) -> absl::Status {
    if (content.size() + block.size() > bytes_max) {
      return absl::ResourceExhaustedError(
          absl::StrCat("xz data decompresses to more than ", bytes_max, " bytes"));
    }
    content.append(block);
    return absl::OkStatus();
  };
  XzUnpacker unpacker;
  BANDANA_RETURN_IF_ERROR(unpacker.Take(compressed, sink));
  BANDANA_RETURN_IF_ERROR(unpacker.Finish(sink));
  return content;
}

}  // namespace bandana
