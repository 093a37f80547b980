// Products of many arms with one vector, from one byte per feature: a first look at a large
// catalogue, bound by memory and not by arithmetic (1e6 arms of 25 features: 2.6 ms, 2026-11).
//
// Variants as of quadratic_forms.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace bandana {

struct ByteProductsKernel {
  // Arms are padded to a multiple of this, and features to a multiple of kFeatures.
  static constexpr int kArms = 16;
  static constexpr int kFeatures = 4;

  const char* name;

  // products[a] = sum over j of b_aj v_j for `arms` arms and `features` features, both padded.
  // b_aj, in [-128, 127], is byte j % 4 (the lowest first) of words[(j / 4) * arms + a].
  void (*compute)(const std::int32_t* words, int arms, int features, const float* v,
                  float* products);
};

// The widest variant that this CPU and operating system support. Chosen once.
const ByteProductsKernel& ByteProducts();

// Every variant that runs on this machine, narrowest first.
std::span<const ByteProductsKernel* const> SupportedByteProducts();

}  // namespace bandana
