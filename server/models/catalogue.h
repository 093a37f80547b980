// The arms a model knows by id. Immutable; a change makes a new catalogue that shares nothing mutable with the old.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"

namespace bandana::server {

struct CatalogueArm {
  std::uint32_t id = 0;
  std::vector<double> features;   // d, finite, |x|_2 <= feature_l2_max
  std::vector<std::string> tags;
};

// Threads: immutable.
class Catalogue {
 public:
  explicit Catalogue(int dimension) : dimension_(dimension) {}
  // Arms in ascending order of id; features as one row-major block so that a query is scored in place.
  static std::shared_ptr<const Catalogue> Make(int dimension, std::vector<CatalogueArm> arms);

  int dimension() const { return dimension_; }
  int size() const { return static_cast<int>(arms_.size()); }
  std::span<const CatalogueArm> arms() const { return arms_; }
  // nullptr when unknown.
  const CatalogueArm* Find(std::uint32_t id) const;

 private:
  int dimension_;
  std::vector<CatalogueArm> arms_;
  std::unordered_map<std::uint32_t, std::uint32_t> index_;
};

}  // namespace bandana::server
