// Minimisation without derivatives: the simplex method of Nelder and Mead with coefficients that
// depend on the dimension (Gao and Han 2012).
#pragma once

#include <functional>
#include <vector>

namespace bandana::tools {

using Point = std::vector<long double>;

// Moves `point` (n >= 1 coordinates) to the best point found in `iterations` steps from the simplex
// of edge `edge` at it, and returns the value there. The objective must be finite. Deterministic.
long double NelderMead(const std::function<long double(const Point&)>& objective, long double edge,
                       int iterations, Point& point);

}  // namespace bandana::tools
