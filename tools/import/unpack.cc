#include "tools/import/unpack.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <vector>

#include "common/base/status.h"
#include "tools/import/gz.h"
#include "tools/import/xz.h"

namespace bandana {
namespace {

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
