#include "common/model/entries/log_entry.h"

namespace bandana {

Sha256Digest ChainHash(const Sha256Digest& previous, std::string_view record) {
  thread_local Sha256 hash;  // keeps OpenSSL's context: making one costs more than hashing a record
  hash.Update(previous);
  hash.Update(record);
  return hash.Finish();
}

}  // namespace bandana
