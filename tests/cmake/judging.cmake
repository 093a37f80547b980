# Tests of judging policies by logs; see bandana_test in cmake/bandana.cmake.
bandana_test(NAME anytime_bound_test SRCS unit/anytime_bound_test.cc DEPS bandana::judging)
bandana_test(NAME exported_policy_test SRCS unit/exported_policy_test.cc
  DEPS bandana::model_harness bandana::replay bandana::server_models bandana::test_support)
bandana_test(NAME judged_policies_test SRCS unit/judged_policies_test.cc DEPS bandana::judging)
bandana_test(NAME lift_monitor_test SRCS unit/lift_monitor_test.cc DEPS bandana::judging)
bandana_test(NAME survey_test SRCS unit/survey_test.cc DEPS bandana::judging)
bandana_test(NAME judging_property_test SRCS property/judging_property_test.cc DEPS bandana::judging LABELS property)
bandana_test(NAME judging_worlds_stat_test SRCS statistical/judging_worlds_stat_test.cc
  DEPS bandana::judging_worlds bandana::test_support LABELS statistical TIMEOUT 300)
bandana_test(NAME propensity_test_stat_test SRCS statistical/propensity_test_stat_test.cc
  DEPS bandana::judging_worlds bandana::test_support LABELS statistical)
bandana_test(NAME survey_stat_test SRCS statistical/survey_stat_test.cc
  DEPS bandana::judging_worlds bandana::test_support LABELS statistical)
bandana_test(NAME config_policy_stat_test SRCS statistical/config_policy_stat_test.cc
  DEPS bandana::judging_worlds bandana::replay bandana::test_support LABELS statistical)
bandana_test(NAME user_split_stat_test SRCS statistical/user_split_stat_test.cc
  DEPS bandana::judging bandana::test_support LABELS statistical)
if(BANDANA_BUILD_TESTS)
  add_test(NAME judging_worlds_whole_test COMMAND judging_worlds_stat_test)
  add_test(NAME propensity_test_whole_test COMMAND propensity_test_stat_test)
  add_test(NAME user_split_whole_test COMMAND user_split_stat_test)
  set_tests_properties(judging_worlds_whole_test propensity_test_whole_test user_split_whole_test PROPERTIES LABELS "statistical;slow" TIMEOUT 7200
    ENVIRONMENT BANDANA_JUDGING_SEEDS=2000)
endif()
find_package(Python3 COMPONENTS Interpreter)
if(BANDANA_BUILD_TESTS AND Python3_FOUND)
  add_test(NAME evaluate_test COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/integration/evaluate_test.py $<TARGET_FILE:bandana-ctl>
    ${CMAKE_CURRENT_SOURCE_DIR}/reference ${CMAKE_CURRENT_SOURCE_DIR}/golden/judging)
  add_test(NAME evaluate_server_test COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/integration/evaluate_server_test.py
    $<TARGET_FILE:bandana-server> $<TARGET_FILE:bandana-ctl>)
  set_tests_properties(evaluate_test evaluate_server_test PROPERTIES LABELS integration TIMEOUT 300)
endif()
if(Python3_FOUND)
  bandana_test(NAME judge_example_test SRCS integration/judge_example_test.cc LABELS integration TIMEOUT 120
    DEPS bandana::decision_files bandana::json bandana::test_server bandana::test_support
    ENV JUDGE_PYTHON=${Python3_EXECUTABLE} JUDGE_EXAMPLE=${PROJECT_SOURCE_DIR}/examples/judge/judge.py)
  add_dependencies(judge_example_test bandana-ctl)
endif()
