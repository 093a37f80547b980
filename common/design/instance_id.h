// Which model a token, a cell or a draw belongs to.
#pragma once

#include <array>
#include <cstddef>

namespace bandana {

using InstanceId = std::array<std::byte, 16>;  // random; new with every model that is made

}  // namespace bandana
