// Small files that all servers of a database share.
#pragma once

#include <memory>

#include "common/base/aead.h"
#include "server/log/postgresql/pg_pool.h"
#include "server/log/state/state_store.h"

namespace bandana::server {

// `wrapping`: seals what is secret; null: such files are refused.
std::shared_ptr<SharedFiles> MakePgShared(std::shared_ptr<PgPool> pool,
                                          std::shared_ptr<const AeadKey> wrapping);

}  // namespace bandana::server
