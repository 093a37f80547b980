// Compressed text, unpacked block by block.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace bandana {

// Takes text in blocks of any length; what it returns ends the reading.
using TextSink = std::function<absl::Status(std::string_view)>;

// Turns packed bytes into text. Errors of both: DATA_LOSS not of this format, damaged or truncated;
// RESOURCE_EXHAUSTED the decoder asks for more than 256 MiB; what the sink returns.
class Unpacker {
 public:
  virtual ~Unpacker() = default;
  virtual absl::Status Take(std::string_view packed, const TextSink& sink) = 0;
  // No more bytes will come.
  virtual absl::Status Finish(const TextSink& sink) = 0;
};

// Reads the file at `path`: .xz and .gz, of one or more concatenated streams, or plain. Errors:
// those of an Unpacker, with the path; NOT_FOUND no such file; RESOURCE_EXHAUSTED more than
// `bytes_max` bytes of text, for a plain file before anything is read; UNAVAILABLE I/O.
absl::Status ReadText(const std::string& path, std::uint64_t bytes_max, const TextSink& sink);

}  // namespace bandana
