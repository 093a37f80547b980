// Where a listener listens, and which listeners exclude each other.
#pragma once

#include <netdb.h>

#include <memory>

#include "absl/status/statusor.h"
#include "common/base/address.h"

namespace bandana::server {

// Never empty.
using ListenAddresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

// All addresses of a listener's host, without its port. Errors: UNAVAILABLE nobody knows the name.
absl::StatusOr<ListenAddresses> AddressesOf(const Address& listen);

// Whether only one of two listeners can be open. Port 0, any free one, excludes nobody, and neither
// does a name that nobody knows.
bool Exclude(const Address& a, const Address& b);

}  // namespace bandana::server
