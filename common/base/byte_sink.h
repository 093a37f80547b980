// Long byte sequences, written a piece at a time.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "common/base/bytes.h"
#include "common/base/status.h"

namespace bandana {

// Takes the next bytes of a sequence.
using ByteSink = std::function<absl::Status(std::string_view bytes)>;
// Writes a whole sequence into a sink; the same at every call. Errors: the sink's.
using ByteSource = std::function<absl::Status(const ByteSink& sink)>;
// `bytes` must outlive it.
inline ByteSource SourceOf(std::string_view bytes) {
  return [bytes](const ByteSink& sink) { return sink(bytes); };
}

// Encodes into a buffer and passes it on whenever it is long enough: memory stays bounded, however
// long the sequence is.
class PieceWriter {
 public:
  explicit PieceWriter(ByteSink sink) : sink_(std::move(sink)) {}
  PieceWriter(const PieceWriter&) = delete;
  PieceWriter& operator=(const PieceWriter&) = delete;

  ByteWriter& out() { return out_; }
  // Call it between small parts. Errors: the sink's.
  absl::Status Pass() { return buffer_.size() < kPieceBytes ? absl::OkStatus() : Flush(); }
  // At the end. Errors: the sink's.
  absl::Status Flush() {
    absl::Status passed = sink_(buffer_);
    buffer_.clear();
    return passed;
  }

 private:
  static constexpr std::size_t kPieceBytes = 1 << 20;
  const ByteSink sink_;
  std::string buffer_;
  ByteWriter out_{buffer_};
};

}  // namespace bandana
