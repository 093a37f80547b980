#include "server/models/admission/entry_salts.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <string>

#include "common/base/bytes.h"
#include "common/base/check.h"
#include "common/base/sha256.h"
#include "common/model/entries/records.h"

namespace bandana::server {

bool EntrySalts::Ready() {
  if (!salted_ || key_) return true;
  std::array<std::byte, 32> key{};
  if (!bits_.Fill(key).ok()) return false;
  key_ = key;
  OPENSSL_cleanse(key.data(), key.size());
  return true;
}

void EntrySalts::Put(LogBatch& batch) {
  used_ = salted_ && !batch.records.empty();
  if (!used_) return;
  BANDANA_CHECK(key_.has_value());
  std::uint64_t number = 0;
  for (NewRecord& record : batch.records) {
    std::string input(AsChars(*key_));
    ByteWriter(input).U64(number++);
    const Sha256Digest digest = Sha256Of(input);
    OPENSSL_cleanse(input.data(), input.size());
    EntrySalt salt{};
    std::copy_n(digest.begin(), salt.size(), salt.begin());
    record.bytes = batch.owned.emplace_back(Salted(salt, record.bytes));
  }
}

void EntrySalts::Forget() {
  if (!key_) return;
  OPENSSL_cleanse(key_->data(), key_->size());
  key_.reset();
  used_ = false;
}

}  // namespace bandana::server
