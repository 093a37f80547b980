// Paths: what an application and a server do to a device, and what the device does.
#pragma once

#include <cstdint>
#include <string>

namespace bandana::vectors {

// The content of paths.VERSION.json.
std::string Paths1();
std::string Paths2();
std::string Paths3();
// One random schedule as a path, seeded: crashes, lost, late and refused calls, failed commits,
// clock steps, absent and repeated reactions. tests/reference/judge.py reads them.
std::string RandomPath(std::uint64_t seed);

}  // namespace bandana::vectors
