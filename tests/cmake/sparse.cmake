# Tests of sparse bandits; see bandana_test in cmake/bandana.cmake.
bandana_test(NAME exponential_selection_test SRCS unit/exponential_selection_test.cc
  DEPS bandana::sparse_mechanisms bandana::test_support)
bandana_test(NAME sparse_release_test SRCS unit/sparse_release_test.cc
  DEPS bandana::sparse_mechanisms bandana::test_support)
bandana_test(NAME sparse_release_stat_test SRCS statistical/sparse_release_stat_test.cc
  DEPS bandana::sparse_mechanisms bandana::test_support LABELS statistical)
bandana_test(NAME fliphat_test SRCS unit/fliphat_test.cc DEPS bandana::sparse_bandits bandana::test_support)
bandana_test(NAME fliphat_lab_test SRCS unit/fliphat_lab_test.cc DEPS bandana::lab_fliphat bandana::test_support)
