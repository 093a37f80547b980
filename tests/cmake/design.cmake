# Tests of promise and design; see bandana_test in cmake/bandana.cmake.
bandana_test(NAME coupling_message_test SRCS unit/coupling_message_test.cc
  DEPS bandana::design bandana::test_support)
bandana_test(NAME selection_policy_test SRCS unit/selection_policy_test.cc
  DEPS bandana::design bandana::test_support)
bandana_test(NAME model_config_test SRCS unit/model_config_test.cc
  DEPS bandana::design bandana::test_support)
bandana_test(NAME effects_config_test SRCS unit/effects_config_test.cc
  DEPS bandana::design bandana::test_support)
bandana_test(NAME public_spec_test SRCS unit/public_spec_test.cc
  DEPS bandana::design bandana::accounting bandana::test_support)
bandana_test(NAME context_policy_test SRCS unit/context_policy_test.cc
  DEPS bandana::design bandana::test_support)
bandana_test(NAME wire_files_test SRCS unit/wire_files_test.cc
  DEPS bandana::design bandana::test_support)
