# Tests of bandits; see bandana_test in cmake/bandana.cmake.
bandana_test(NAME bandits_property_test SRCS property/bandits_property_test.cc
  DEPS bandana::bandits Eigen3::Eigen LABELS property)
bandana_test(NAME node_tree_test SRCS unit/node_tree_test.cc DEPS bandana::bandits)
bandana_test(NAME independent_model_property_test SRCS property/independent_model_property_test.cc
  DEPS bandana::bandits bandana::linalg bandana::test_support LABELS property)
bandana_test(NAME fading_property_test SRCS property/fading_property_test.cc
  DEPS bandana::bandits Eigen3::Eigen LABELS property)
bandana_test(NAME released_posterior_property_test SRCS property/released_posterior_property_test.cc
  DEPS bandana::bandits Eigen3::Eigen LABELS property)
bandana_test(NAME shaped_posterior_property_test SRCS property/shaped_posterior_property_test.cc
  DEPS bandana::bandits bandana::planner Eigen3::Eigen LABELS property)
bandana_test(NAME arm_search_test SRCS unit/arm_search_test.cc DEPS bandana::arm_search bandana::bandits bandana::kernels bandana::linalg)
bandana_test(NAME quadratic_forms_test SRCS unit/quadratic_forms_test.cc DEPS bandana::kernels)
bandana_test(NAME symmetric_test SRCS unit/symmetric_test.cc DEPS bandana::linalg Threads::Threads)
bandana_test(NAME graph_test SRCS unit/graph_test.cc DEPS bandana::bandits)
bandana_test(NAME noisy_gram_test SRCS unit/noisy_gram_test.cc DEPS bandana::bandits Eigen3::Eigen)
bandana_test(NAME context_statistics_test SRCS unit/context_statistics_test.cc
  DEPS bandana::bandits bandana::test_support)
bandana_test(NAME link_test SRCS unit/link_test.cc DEPS bandana::ranking bandana::test_support)
bandana_test(NAME posterior_test SRCS unit/posterior_test.cc DEPS bandana::ranking)
bandana_test(NAME scoring_test SRCS unit/scoring_test.cc DEPS bandana::ranking)
bandana_test(NAME bandit_model_test SRCS unit/bandit_model_test.cc DEPS bandana::bandits)
bandana_test(NAME bandits_golden_test SRCS golden/bandits_golden_test.cc DEPS bandana::bandits LABELS golden)
target_compile_definitions(bandits_golden_test PRIVATE
  BANDANA_GOLDEN_DIR="${CMAKE_CURRENT_SOURCE_DIR}/golden")
bandana_test(NAME mab_test SRCS unit/mab_test.cc DEPS bandana::mab bandana::ranking bandana::test_support)
bandana_test(NAME mab_property_test SRCS property/mab_property_test.cc
  DEPS bandana::mab bandana::test_support LABELS property)
bandana_test(NAME bco_test SRCS unit/bco_test.cc DEPS bandana::bco bandana::test_support)
bandana_test(NAME effects_freeing_test SRCS unit/effects_freeing_test.cc DEPS bandana::effects bandana::test_support)
bandana_test(NAME effects_model_test SRCS unit/effects_model_test.cc
  DEPS bandana::effects bandana::test_support Eigen3::Eigen)
bandana_test(NAME effects_weights_test SRCS unit/effects_weights_test.cc
  DEPS bandana::effects bandana::test_support Eigen3::Eigen)
bandana_test(NAME selection_rules_test SRCS unit/selection_rules_test.cc
  DEPS bandana::ranking bandana::posterior_draws bandana::test_support)
bandana_test(NAME list_rules_test SRCS unit/list_rules_test.cc DEPS bandana::ranking bandana::test_support)
bandana_test(NAME list_rules_stat_test SRCS statistical/list_rules_stat_test.cc
  DEPS bandana::ranking bandana::random bandana::test_support LABELS statistical)
bandana_test(NAME selection_rules_stat_test SRCS statistical/selection_rules_stat_test.cc
  DEPS bandana::ranking bandana::posterior_draws bandana::test_support LABELS statistical)
