// The name under which a caller asked: the Host header of HTTP.
#pragma once

#include <string_view>

namespace bandana::server {

// Without its port.
std::string_view NameOfHost(std::string_view host);

// Whether it is localhost or a loopback address, in any case of letters, with or without a port.
// Any other name may be one that somebody has let point to a loopback address: a page under that
// name may read what is answered under it, and its GETs have no origin.
bool IsLoopbackHost(std::string_view host);

}  // namespace bandana::server
