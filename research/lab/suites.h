// All suites of bandana-lab.
#pragma once

#include <span>

#include "research/lab/experiment.h"

namespace bandana::lab {

std::span<const Suite* const> Suites();

}  // namespace bandana::lab
