# Tests of mechanisms; see bandana_test in cmake/bandana.cmake.
bandana_test(NAME test_support_test SRCS unit/test_support_test.cc DEPS bandana::test_support)
bandana_test(NAME samplers_test SRCS unit/samplers_test.cc
  DEPS bandana::random bandana::test_support)
bandana_test(NAME likelihood_ratio_test SRCS unit/likelihood_ratio_test.cc DEPS bandana::mechanisms)
bandana_test(NAME reward_randomizer_test SRCS unit/reward_randomizer_test.cc
  DEPS bandana::mechanisms bandana::test_support)
bandana_test(NAME window_mechanism_property_test SRCS property/window_mechanism_property_test.cc
  DEPS bandana::mechanisms bandana::test_support LABELS property)
bandana_test(NAME reward_randomizer_stat_test SRCS statistical/reward_randomizer_stat_test.cc
  DEPS bandana::mechanisms bandana::test_support LABELS statistical)
