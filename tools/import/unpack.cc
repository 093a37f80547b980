#include "tools/import/unpack.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <limits>
#include <memory>
#include <system_error>
#include <vector>

#include "common/base/status.h"
#include "tools/import/xz.h"

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

std::unique_ptr<Unpacker> MakeGzUnpacker() { return std::make_unique<GzUnpacker>(); }

constexpr std::size_t kBlockBytes = std::size_t{1} << 20;

class Plain final : public Unpacker {
 public:
  absl::Status Take(std::string_view packed, const TextSink& sink) override { return sink(packed); }
  absl::Status Finish(const TextSink&) override { return absl::OkStatus(); }
};

// A file that is closed on every path.
class InputFile {
 public:
  explicit InputFile(const std::string& path) : file_(std::fopen(path.c_str(), "rb")) {}
  ~InputFile() {
    if (file_ != nullptr) std::fclose(file_);
  }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  std::FILE* get() const { return file_; }

 private:
  std::FILE* file_;
};

absl::Status TooLarge(const std::string& what, std::uint64_t bytes_max) {
  return absl::ResourceExhaustedError(
      absl::StrCat(what, " more than the ", bytes_max >> 20, " MiB allowed"));
}

absl::Status ReadBlocks(const std::string& path, Unpacker& unpacker, const TextSink& sink) {
  const InputFile file(path);
  if (file.get() == nullptr) {
    if (errno == ENOENT) return NotFound("no such file");
    return Unavailable("cannot be opened: ", std::strerror(errno));
  }
  std::vector<char> block(kBlockBytes);
  while (const std::size_t got = std::fread(block.data(), 1, block.size(), file.get())) {
    BANDANA_RETURN_IF_ERROR(unpacker.Take({block.data(), got}, sink));
  }
  if (std::ferror(file.get()) != 0) return Unavailable("cannot be read: ", std::strerror(errno));
  return unpacker.Finish(sink);
}

std::unique_ptr<Unpacker> MakeUnpacker(std::string_view path) {
  if (path.ends_with(".xz")) return MakeXzUnpacker();
  if (path.ends_with(".gz")) return MakeGzUnpacker();
  return nullptr;
}

}  // namespace

absl::Status ReadText(const std::string& path, std::uint64_t bytes_max, const TextSink& sink) {
  std::unique_ptr<Unpacker> unpacker = MakeUnpacker(path);
  if (unpacker == nullptr) {
    std::error_code error;
    const std::uint64_t size = std::filesystem::file_size(path, error);
    if (!error && size > bytes_max) {
      return TooLarge(absl::StrCat(path, ": has ", size >> 20, " MiB,"), bytes_max);
    }
    unpacker = std::make_unique<Plain>();
  }
  std::uint64_t bytes = 0;
  const auto counted = [&](std::string_view block) -> absl::Status {
    bytes += block.size();
    if (bytes > bytes_max) return TooLarge("has", bytes_max);
    return sink(block);
  };
  return Annotate(ReadBlocks(path, *unpacker, counted), path);
}

}  // namespace bandana
