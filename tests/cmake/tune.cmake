# Tests of tuning; see bandana_test in cmake/bandana.cmake.
bandana_test(NAME tune_test SRCS unit/tune_test.cc
  DEPS bandana::tune bandana::judge bandana::replay bandana::decision_files bandana::tools_base bandana::test_support)
bandana_test(NAME tune_worlds_stat_test SRCS statistical/tune_worlds_stat_test.cc
  DEPS bandana::tune bandana::judge bandana::replay bandana::decision_files bandana::test_support LABELS statistical TIMEOUT 600)
