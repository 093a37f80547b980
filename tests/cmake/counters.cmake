bandana_test(NAME counter_factors_test SRCS unit/counter_factors_test.cc
  DEPS bandana::counters bandana::tables bandana::test_support)
