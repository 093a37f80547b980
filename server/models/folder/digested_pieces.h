// A file's content in pieces, with the SHA-256 digest of all of them at its end.
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "common/base/byte_sink.h"
#include "common/base/sha256.h"

namespace bandana::server {

// `sink` must outlive it. Not thread-safe.
class DigestedPieces {
 public:
  explicit DigestedPieces(const ByteSink& sink)
      : sink_(sink), pieces_([this](std::string_view bytes) {
          digest_.Update(bytes);
          return sink_(bytes);
        }) {}
  PieceWriter& pieces() { return pieces_; }
  ByteWriter& out() { return pieces_.out(); }
  // Call once, at the end. Errors: the sink's.
  absl::Status Finish() {
    BANDANA_RETURN_IF_ERROR(pieces_.Flush());
    return sink_(AsChars(digest_.Finish()));
  }

 private:
  const ByteSink& sink_;
  Sha256 digest_;
  PieceWriter pieces_;
};

}  // namespace bandana::server
