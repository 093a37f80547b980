#include "client/src/store/store_key.h"

#include <unistd.h>

#include <array>
#include <cstddef>

#include "client/src/store/key_sealer.h"
#include "client/src/store/schema.h"
#include "common/base/file.h"
#include "common/base/sha256.h"
#include "common/base/status.h"
#include "common/random/bit_source.h"

namespace bandana::device {
namespace {

absl::StatusOr<SecretBytes> DrawKey() {
  std::array<std::byte, KeySealer::kKeyBytes> key;
  BANDANA_RETURN_IF_ERROR(SystemBits().Fill(key));
  SecretBytes bytes;
  bytes.get().assign(AsChars(key));
  explicit_bzero(key.data(), key.size());
  return bytes;
}

struct StoreState {
  std::int64_t format = 0;
  bool fresh = false;  // no run has begun
  bool has_check = false;
};

absl::StatusOr<StoreState> ReadState(Database& database) {
  StoreState state;
  BANDANA_ASSIGN_OR_RETURN(Statement version, database.Prepare("PRAGMA user_version"));
  if (version.Step()) state.format = version.Int(0);
  version.Reset();
  auto store = database.Prepare("SELECT run, key_check FROM store");
  if (!store.ok()) return DataLoss("device store: tables differ: ", store.status().message());
  if (store->Step()) {
    state.fresh = store->Int(0) == 0;
    state.has_check = !store->Blob(1).empty();
  }
  store->Reset();
  BANDANA_RETURN_IF_ERROR(database.failure());
  return state;
}

// Empty when there is none.
absl::StatusOr<SecretBytes> ReadKeyFile(const std::string& path) {
  auto bytes = ReadFile(path, KeySealer::kKeyBytes);
  if (absl::IsNotFound(bytes.status())) return SecretBytes();
  if (!bytes.ok()) return bytes.status();
  SecretBytes key(*std::move(bytes));
  if (key.get().size() != KeySealer::kKeyBytes) return DataLoss(path, " is damaged: it is no key");
  return key;
}

absl::Status SealedByAnother(const std::string& why) {
  return FailedPrecondition("device store: ", why);
}

}  // namespace

absl::StatusOr<StoreKeys> KeysOf(Database& database, const std::string& path,
                                 std::string_view application_key) {
  if (!application_key.empty() && application_key.size() != KeySealer::kKeyBytes) {
    return InvalidArgument("options.key must have ", KeySealer::kKeyBytes, " bytes, got ",
                           application_key.size());
  }
  BANDANA_ASSIGN_OR_RETURN(const StoreState state, ReadState(database));
  const std::string key_path = StoreKeyPath(path);
  BANDANA_ASSIGN_OR_RETURN(SecretBytes own, ReadKeyFile(key_path));
  const bool former = state.format < kSchemaVersion && !state.fresh;
  StoreKeys keys;
  if (!application_key.empty()) {
    const bool made_without = former ? !state.has_check : !state.fresh && !own.get().empty();
    if (made_without) {
      return SealedByAnother("it was made without a key: options.key must be empty");
    }
    // The key of a store that was here before, or of an opening that did not come far.
    if (!own.get().empty()) unlink(key_path.c_str());
    keys.key = SecretBytes(std::string(application_key));
    keys.former = former;
    keys.former_sealed = former;
    return keys;
  }
  if (former && state.has_check) return SealedByAnother("it is sealed: options.key is needed");
  if (own.get().empty() && !former && !state.fresh) {
    return SealedByAnother(
        absl::StrCat("it is sealed: options.key is needed, or, if it was made "
                     "without one, the file ",
                     key_path));
  }
  if (own.get().empty()) {
    BANDANA_ASSIGN_OR_RETURN(own, DrawKey());
    BANDANA_RETURN_IF_ERROR(WriteFileDurably(key_path, own.get(), 0600));
  }
  keys.key = std::move(own);
  keys.former = former;
  return keys;
}

absl::StatusOr<StoreKeys> KeysInMemory() {
  StoreKeys keys;
  BANDANA_ASSIGN_OR_RETURN(keys.key, DrawKey());
  return keys;
}

}  // namespace bandana::device
