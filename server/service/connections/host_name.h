// The name under which a caller asked: the Host header of HTTP.
#pragma once

#include <string_view>

#include "common/base/address.h"

namespace bandana::server {

// Without its port.
std::string_view NameOfHost(std::string_view host);

// Whether it is localhost or a loopback address, in any case of letters, with or without a port.
bool IsLoopbackHost(std::string_view host);

// Whether a plaintext listener may take `host` for a name of its own. Any other name may be one
// that somebody has let point to its address: a page under that name may read what is answered
// under it, and its GETs have no origin. On a loopback address: as IsLoopbackHost. Elsewhere also
// addresses, names that the public DNS does not have (without a dot, or under .internal, .local,
// .localhost and .home.arpa), the machine's name, and the name in `listen`: whoever can let one of
// those point here can ask by themselves.
bool IsOwnHost(const Address& listen, std::string_view host);

}  // namespace bandana::server
