bandana_test(NAME counter_factors_test SRCS unit/counter_factors_test.cc
  DEPS bandana::counters bandana::tables bandana::test_support)
bandana_test(NAME blt_counter_test SRCS unit/blt_counter_test.cc
  DEPS bandana::counters bandana::test_support)
bandana_test(NAME counter_stat_test SRCS statistical/counter_stat_test.cc
  DEPS bandana::counters bandana::test_support LABELS statistical)
bandana_test(NAME tree_counter_test SRCS unit/tree_counter_test.cc
  DEPS bandana::counters bandana::test_support)
