// The device's store as a file of any bytes: it opens with every row verified, or is refused.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>

#include "client/src/store/open_tables.h"
#include "client/src/store/sqlite.h"
#include "tests/support/temp_dir.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto* const folder = new bandana::testing::TempDir;
  const std::string path = folder->File("device.db");
  for (const char* suffix : {"-wal", "-shm"}) std::remove((path + suffix).c_str());
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return 0;
  std::fwrite(data, 1, size, file);
  std::fclose(file);
  auto database = bandana::device::Database::Open(path);
  if (!database.ok()) return 0;
  std::remove(bandana::device::StoreKeyPath(path).c_str());
  const auto keys = bandana::device::KeysOf(**database, path, "");
  if (!keys.ok()) return 0;
  auto opened = bandana::device::OpenTables(*std::move(database), *keys);
  if (!opened.ok()) return 0;
  opened->tables->Mark();
  opened->tables->streams().Of(1, "");
  return 0;
}
