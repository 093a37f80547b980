// Cuts a byte sequence where its content says so: two sequences that are equal over a stretch are
// cut alike there, wherever the stretch stands in each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"

namespace bandana::server {

// A cut comes after a byte where a hash of the last 64 bytes has its upper 12 bits zero: chunks
// have some 5 KiB, never more than kChunkBytesMax, and kChunkBytesMin at least but for the last
// one. Source: Muthitacharoen, Chen, Mazieres, "A low-bandwidth network file system", SOSP 2001,
// section 3.1; the hash is the Gear hash of Xia et al., "FastCDC", USENIX ATC 2016. Not
// thread-safe.
class ContentChunks {
 public:
  static constexpr std::size_t kChunkBytesMin = 1 << 10;
  static constexpr std::size_t kChunkBytesMax = 1 << 15;
  using Take = std::function<absl::Status(std::string_view chunk)>;

  explicit ContentChunks(Take take) : take_(std::move(take)) {}
  ContentChunks(const ContentChunks&) = delete;
  ContentChunks& operator=(const ContentChunks&) = delete;

  // The next bytes of the sequence. Errors: those of `take`.
  absl::Status Add(std::string_view bytes);
  // At the end: the last chunk. Errors: those of `take`.
  absl::Status Finish();

 private:
  // The length of the chunk that `bytes` begins with, 0 while it cannot be told.
  std::size_t Cut(std::string_view bytes);

  const Take take_;
  std::string rest_;         // begins with a chunk that has no end yet
  std::size_t scanned_ = 0;  // of rest_
  std::uint64_t hash_ = 0;   // after scanned_ bytes
};

}  // namespace bandana::server
