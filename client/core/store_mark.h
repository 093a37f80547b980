// How far a store has come: whether it is an older copy of itself.
#pragma once

#include <cstdint>
#include <string>

namespace bandana::device {

// `position` grows with every transaction that debits or draws.
struct StoreMark {
  std::string identity;  // 16 bytes
  std::uint64_t position = 0;
  std::uint64_t run = 0;
  std::uint64_t events = 0;   // debited in the store's life, of all users
  std::uint64_t streams = 0;  // counter streams debited in the store's life
  std::string ledger_hash;    // 32 bytes: the head of the ledger's chain
};

// True when `store` is not the store that `anchor` last saw, or a later state of it. The anchor may
// be the older of the two (a power cut), never the newer.
bool IsOlder(const StoreMark& store, const StoreMark& anchor);

}  // namespace bandana::device
