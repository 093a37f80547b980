bandana_test(NAME counter_factors_test SRCS unit/counter_factors_test.cc
  DEPS bandana::counter_oracle bandana::tables bandana::test_support)
bandana_test(NAME counter_test
  SRCS unit/counter_test.cc unit/blt_counter_test.cc unit/clipped_increment_test.cc unit/counter_rows_test.cc
  DEPS bandana::counter_oracle bandana::test_support)
bandana_test(NAME counter_stat_test SRCS statistical/counter_stat_test.cc
  DEPS bandana::counters bandana::test_support LABELS statistical)
