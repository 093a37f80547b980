# Tests of client; see bandana_test in cmake/bandana.cmake.
bandana_library(NAME fake_recommender SRCS support/fake_recommender.cc
  PUBLIC_DEPS bandana::proto bandana::wire bandana::base)

bandana_test(NAME client_delivery_test SRCS integration/client_delivery_test.cc
  DEPS bandana::client bandana::fake_recommender bandana::test_support LABELS integration)
