// The view that servers of one database have of its models and of one another.
#pragma once

#include <memory>
#include <string>

#include "server/log/postgresql/pg_connection.h"
#include "server/log/store_watch.h"

namespace bandana::server {

// Connects when it is first asked. `key_file`: addresses that nobody who has it has written are not
// believed. `holder`: PgLogOptions::holder; `address`: of this server. Look's errors are also those
// of the key file.
std::unique_ptr<StoreWatch> MakePgWatch(PgOptions server, std::string key_file, std::string holder,
                                        std::string address);

}  // namespace bandana::server
