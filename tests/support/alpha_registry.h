// Every random test of the suite with its alpha, the chance to reject right code. Their sum bounds
// the chance that a suite run with fresh seeds turns red for nothing; it is checked when this
// header is compiled.
#pragma once

#include <string_view>

namespace bandana::testing {

struct AlphaEntry {
  std::string_view test;
  double alpha;  // of the whole test: one with several comparisons divides it among them
};

inline constexpr AlphaEntry kAlphas[] = {
    {"system_bits_balance", 1e-6},
    {"seeded_bits_balance", 1e-6},
    {"kit_false_alarm", 1e-6},
    {"randomizer_fit", 1e-6},
    {"randomizer_mutants", 1e-6},
    {"randomizer_mean", 1e-6},
    {"client_wire_fit", 1e-6},
    {"discrete_gaussian_fit", 1e-6},
    {"discrete_gaussian_large", 1e-6},
    {"discrete_gaussian_parity", 1e-6},
    {"discrete_gaussian_mutants", 1e-6},
    {"discrete_laplace_fit", 1e-6},
    {"counter_noise", 1e-6},
    {"real_samplers_fit", 1e-6},
    {"random_direction", 1e-6},
    {"published_noise_fit", 1e-6},
    {"published_noise_mutants", 1e-6},
    {"wishart_diagonal", 1e-6},
    {"privunit_cap", 1e-6},
    {"privunit_mean", 1e-6},
    {"privunit_energy", 1e-6},
    {"privunit_mutants", 1e-6},
    {"central_fork_independence", 1e-6},
    {"exponential_selection_fit", 1e-6},
    {"sparse_release_noise", 1e-6},
    {"audit_mechanisms", 1e-6},
    {"audit_false_alarms", 1e-6},
    {"audit_end_to_end", 1e-6},
    {"sphere_rounds_law", 1e-6},
    {"joint_counter_noise", 1e-6},
    {"scalar_gaussian_fit", 1e-6},
    {"cap_law_fit", 1e-6},
    {"cap_law_mutants", 1e-6},
    {"cap_law_mean", 1e-6},
    {"dgs_noise", 1e-6},
    {"selection_rules_fit", 1e-6},
    {"judging_bias", 1e-6},
    {"judging_anytime", 1e-6},
    {"judging_large_sample", 1e-6},
    {"judging_lists", 1e-6},
    {"judging_early_reports", 1e-6},
    {"judging_propensities", 1e-6},
    {"judging_splits", 1e-6},
    {"list_rules_fit", 1e-6},
    {"thompson_marginal", 1e-6},
};

inline constexpr double kAlphaSuiteMax = 1e-3;

// The registered alpha. An unknown name does not compile.
consteval double AlphaOf(std::string_view test) {
  for (const AlphaEntry& entry : kAlphas) {
    if (entry.test == test) return entry.alpha;
  }
  throw "this test has no entry in kAlphas";
}

consteval bool AlphasAreSound() {
  double sum = 0;
  for (const AlphaEntry& entry : kAlphas) {
    int namesakes = 0;
    for (const AlphaEntry& other : kAlphas) namesakes += entry.test == other.test;
    if (namesakes != 1 || !(entry.alpha > 0)) return false;
    sum += entry.alpha;
  }
  return sum <= kAlphaSuiteMax;
}
static_assert(AlphasAreSound(),
              "alphas must be positive, named once, and sum to at most kAlphaSuiteMax");

}  // namespace bandana::testing
