#include "research/tables/nelder_mead.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace bandana::tools {
namespace {

struct Vertex {
  Point x;
  long double value;
};

// centre + step (vertex - centre).
Point Along(const Point& centre, const Point& vertex, long double step) {
  Point out(centre.size());
  for (std::size_t k = 0; k < out.size(); ++k) {
    out[k] = centre[k] + step * (vertex[k] - centre[k]);
  }
  return out;
}

Point CentreWithoutLast(const std::vector<Vertex>& simplex) {
  const std::size_t n = simplex.size() - 1;
  Point centre(n, 0);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < n; ++k) {
      centre[k] += simplex[i].x[k] / static_cast<long double>(n);
    }
  }
  return centre;
}

}  // namespace

long double NelderMead(const std::function<long double(const Point&)>& objective, long double edge,
                       int iterations, Point& point) {
  const std::size_t n = point.size();
  const long double size = static_cast<long double>(n);
  const long double expand = 1 + 2 / size;
  const long double contract = 0.75L - 0.5L / size;
  const long double shrink = n == 1 ? 0.5L : 1 - 1 / size;
  const auto at = [&](Point x) {
    const long double value = objective(x);
    return Vertex{std::move(x), value};
  };
  const auto less = [](const Vertex& a, const Vertex& b) { return a.value < b.value; };

  std::vector<Vertex> simplex = {at(point)};
  for (std::size_t k = 0; k < n; ++k) {
    Point moved = point;
    moved[k] += edge;
    simplex.push_back(at(std::move(moved)));
  }
  for (int i = 0; i < iterations; ++i) {
    std::stable_sort(simplex.begin(), simplex.end(), less);
    Vertex& worst = simplex.back();
    const Point centre = CentreWithoutLast(simplex);
    Vertex reflected = at(Along(centre, worst.x, -1));
    if (reflected.value < simplex.front().value) {
      Vertex expanded = at(Along(centre, worst.x, -expand));
      worst = expanded.value < reflected.value ? std::move(expanded) : std::move(reflected);
      continue;
    }
    if (reflected.value < simplex[n - 1].value) {
      worst = std::move(reflected);
      continue;
    }
    const bool outside = reflected.value < worst.value;
    Vertex contracted = at(Along(centre, worst.x, outside ? -contract : contract));
    if (contracted.value < std::min(reflected.value, worst.value)) {
      worst = std::move(contracted);
      continue;
    }
    for (std::size_t v = 1; v <= n; ++v) {
      simplex[v] = at(Along(simplex.front().x, simplex[v].x, shrink));
    }
  }
  const auto best = std::min_element(simplex.begin(), simplex.end(), less);
  point = best->x;
  return best->value;
}

}  // namespace bandana::tools
