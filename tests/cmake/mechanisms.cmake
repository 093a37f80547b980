# Tests of mechanisms; see bandana_test in cmake/bandana.cmake.
bandana_test(NAME test_support_test SRCS unit/test_support_test.cc DEPS bandana::test_support)
bandana_test(NAME samplers_test SRCS unit/samplers_test.cc
  DEPS bandana::random bandana::test_support)
bandana_test(NAME exact_samplers_test SRCS unit/exact_samplers_test.cc
  DEPS bandana::random bandana::test_support TIMEOUT 600)
bandana_test(NAME exact_samplers_stat_test SRCS statistical/exact_samplers_stat_test.cc
  DEPS bandana::random bandana::test_support LABELS statistical)
bandana_test(NAME keyed_stream_test SRCS unit/keyed_stream_test.cc
  DEPS bandana::random bandana::test_support)
bandana_test(NAME real_samplers_test SRCS unit/real_samplers_test.cc
  DEPS bandana::random bandana::test_support)
bandana_test(NAME real_samplers_stat_test SRCS statistical/real_samplers_stat_test.cc
  DEPS bandana::random bandana::test_support LABELS statistical)
bandana_test(NAME published_noise_test SRCS unit/published_noise_test.cc
  DEPS bandana::published bandana::test_support)
bandana_test(NAME published_noise_stat_test SRCS statistical/published_noise_stat_test.cc
  DEPS bandana::published bandana::test_support LABELS statistical)
bandana_test(NAME cap_design_test SRCS unit/cap_design_test.cc
  DEPS bandana::mechanisms bandana::test_support)
bandana_test(NAME sphere_lift_test SRCS unit/sphere_lift_test.cc
  DEPS bandana::mechanisms bandana::test_support)
bandana_test(NAME privunit_test SRCS unit/privunit_test.cc
  DEPS bandana::mechanisms bandana::test_support)
bandana_test(NAME privunit_stat_test SRCS statistical/privunit_stat_test.cc
  DEPS bandana::mechanisms bandana::test_support LABELS statistical)
bandana_test(NAME jdp_regularizer_test SRCS unit/jdp_regularizer_test.cc
  DEPS bandana::published_joint bandana::test_support)
bandana_test(NAME wishart_stat_test SRCS statistical/wishart_stat_test.cc
  DEPS bandana::published_joint bandana::test_support LABELS statistical)
bandana_test(NAME noise_grid_test SRCS unit/noise_grid_test.cc
  DEPS bandana::mechanisms bandana::test_support)
bandana_test(NAME vector_mechanisms_test SRCS unit/vector_mechanisms_test.cc
  DEPS bandana::published bandana::test_support)
bandana_test(NAME joint_sensitivity_property_test SRCS property/joint_sensitivity_property_test.cc
  DEPS bandana::random bandana::test_support LABELS property)
bandana_test(NAME likelihood_ratio_test SRCS unit/likelihood_ratio_test.cc DEPS bandana::mechanisms)
bandana_test(NAME centred_window_test SRCS unit/centred_window_test.cc
  DEPS bandana::mechanisms bandana::test_support)
bandana_test(NAME reward_randomizer_test SRCS unit/reward_randomizer_test.cc
  DEPS bandana::mechanisms bandana::test_support)
bandana_test(NAME window_mechanism_property_test SRCS property/window_mechanism_property_test.cc
  DEPS bandana::mechanisms bandana::test_support LABELS property)
bandana_test(NAME reward_randomizer_stat_test SRCS statistical/reward_randomizer_stat_test.cc
  DEPS bandana::mechanisms bandana::test_support LABELS statistical)
bandana_test(NAME scalar_loss_test SRCS unit/scalar_loss_test.cc
  DEPS bandana::published bandana::test_support)
bandana_test(NAME scalar_loss_stat_test SRCS statistical/scalar_loss_stat_test.cc
  DEPS bandana::published bandana::test_support LABELS statistical)

find_package(Python3 REQUIRED COMPONENTS Interpreter)
# Code that must not compile: the privacy boundary's types.
add_test(NAME statistics_types_test COMMAND Python3::Interpreter
  ${PROJECT_SOURCE_DIR}/tests/compile_fail/statistics_types_test.py ${CMAKE_CXX_COMPILER}
  ${PROJECT_SOURCE_DIR})
set_tests_properties(statistics_types_test PROPERTIES LABELS "unit;compile" TIMEOUT 300)
add_test(NAME reward_types_test COMMAND Python3::Interpreter
  ${PROJECT_SOURCE_DIR}/tests/compile_fail/reward_types_test.py ${CMAKE_CXX_COMPILER}
  ${PROJECT_SOURCE_DIR})
set_tests_properties(reward_types_test PROPERTIES LABELS "unit;compile" TIMEOUT 300)
# The source checks behind `./dev check`, and the ones that are cheap enough for every run.
add_test(NAME check_tools_test COMMAND Python3::Interpreter
  ${PROJECT_SOURCE_DIR}/tools/check/check_test.py)
set_tests_properties(check_tools_test PROPERTIES LABELS "unit;compile" TIMEOUT 120)
add_test(NAME check_book_test COMMAND Python3::Interpreter
  ${PROJECT_SOURCE_DIR}/tools/check/check_book_test.py)
set_tests_properties(check_book_test PROPERTIES LABELS "unit;compile" TIMEOUT 120)
add_test(NAME check_snippets COMMAND Python3::Interpreter
  ${PROJECT_SOURCE_DIR}/tools/check/check_snippets.py ${PROJECT_BINARY_DIR})
set_tests_properties(check_snippets PROPERTIES LABELS "unit;compile" TIMEOUT 120)
foreach(check layering bans monitoring proofs docs paths kinds english)
  add_test(NAME check_${check} COMMAND Python3::Interpreter
    ${PROJECT_SOURCE_DIR}/tools/check/check_${check}.py)
  set_tests_properties(check_${check} PROPERTIES LABELS "unit;compile" TIMEOUT 120)
endforeach()
