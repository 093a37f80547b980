#include "tools/import/gz.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>

#include "common/base/status.h"

namespace bandana {
namespace {

constexpr int kGzipOnly = 16;  // added to the window's bits: no zlib header, no raw data

class GzUnpacker final : public Unpacker {
 public:
  GzUnpacker() : ready_(inflateInit2(&stream_, MAX_WBITS + kGzipOnly) == Z_OK) {}
  ~GzUnpacker() override { inflateEnd(&stream_); }
  GzUnpacker(const GzUnpacker&) = delete;
  GzUnpacker& operator=(const GzUnpacker&) = delete;

  absl::Status Take(std::string_view packed, const TextSink& sink) override {
    if (!ready_) return absl::ResourceExhaustedError("too little memory to decompress gzip data");
    while (!packed.empty()) {
      const auto step =
          static_cast<uInt>(std::min<std::size_t>(packed.size(), std::numeric_limits<uInt>::max()));
      stream_.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(packed.data()));
      stream_.avail_in = step;
      BANDANA_RETURN_IF_ERROR(Inflate(sink));
      packed.remove_prefix(step - stream_.avail_in);
    }
    return absl::OkStatus();
  }

  absl::Status Finish(const TextSink&) override {
    if (at_end_) return absl::OkStatus();
    return any_ ? DataLoss("gzip data is truncated") : DataLoss("not a gzip file");
  }

 private:
  // Uses up the bytes that came, to the end of one stream at most.
  absl::Status Inflate(const TextSink& sink) {
    if (at_end_) inflateReset(&stream_);  // another stream follows
    at_end_ = false;
    any_ = true;
    do {
      stream_.next_out = block_.data();
      stream_.avail_out = static_cast<uInt>(block_.size());
      const int result = inflate(&stream_, Z_NO_FLUSH);
      if (result == Z_DATA_ERROR && stream_.total_out == 0) return DataLoss("not a gzip file");
      if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) {
        return DataLoss("gzip data is damaged");
      }
      at_end_ = result == Z_STREAM_END;
      const std::size_t made = block_.size() - stream_.avail_out;
      if (made > 0) {
        BANDANA_RETURN_IF_ERROR(sink({reinterpret_cast<const char*>(block_.data()), made}));
      }
    } while (!at_end_ && (stream_.avail_in > 0 || stream_.avail_out == 0));
    return absl::OkStatus();
  }

  z_stream stream_ = {};
  bool ready_;
  bool any_ = false;     // a byte came
  bool at_end_ = false;  // of a stream
  std::array<unsigned char, 64 * 1024> block_;
};

}  // namespace

std::unique_ptr<Unpacker> MakeGzUnpacker() { return std::make_unique<GzUnpacker>(); }

}  // namespace bandana
