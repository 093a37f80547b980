#include "client/core/store_mark.h"

namespace bandana::device {

bool IsOlder(const StoreMark& store, const StoreMark& anchor) {
  return store.position < anchor.position ||
         (store.position == anchor.position && store.ledger_hash != anchor.ledger_hash);
}

}  // namespace bandana::device
