// Write-ahead files: any bytes are judged, and nothing else happens.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>

#include "server/log/wal_check.h"
#include "tests/support/temp_dir.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto* const folder = new bandana::testing::TempDir;
  const std::string path = folder->File("wal");
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return 0;
  std::fwrite(data, 1, size, file);
  std::fclose(file);
  bandana::server::CheckWal(path).IgnoreError();
  return 0;
}
