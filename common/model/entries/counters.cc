#include "common/model/entries/counters.h"

#include "common/base/bytes.h"
#include "common/base/status.h"

namespace bandana {

void Counters::Add(const Values& counts) {
  for (std::size_t i = 0; i < kSize; ++i) {
    if (counts[i] != 0) Add(i, counts[i]);
  }
}

Counters::Values Counters::Get() const {
  Values values{};
  for (std::size_t i = 0; i < kSize; ++i) values[i] = values_[i].load(std::memory_order_relaxed);
  return values;
}

std::string Counters::Encode(const Values& values) {
  std::string bytes;
  ByteWriter out(bytes);
  for (const std::uint64_t value : values) out.U64(value);
  return bytes;
}

absl::Status Counters::Restore(std::string_view bytes) {
  // An older version stored fewer counters: new ones are added at the end and start at zero.
  if (bytes.size() % sizeof(std::uint64_t) != 0 || bytes.size() > kSize * sizeof(std::uint64_t)) {
    return DataLoss("report counters have ", bytes.size(), " bytes");
  }
  ByteReader in(bytes);
  for (std::size_t i = 0; i < bytes.size() / sizeof(std::uint64_t); ++i) {
    values_[i].store(in.U64(), std::memory_order_relaxed);
  }
  return absl::OkStatus();
}

}  // namespace bandana
