# Tests of features; see bandana_test in cmake/bandana.cmake.
bandana_test(NAME feature_schema_test SRCS unit/feature_schema_test.cc
  DEPS bandana::features bandana::test_support)
bandana_test(NAME feature_encoder_test SRCS unit/feature_encoder_test.cc
  DEPS bandana::features bandana::test_support)
bandana_test(NAME features_property_test SRCS property/features_property_test.cc
  DEPS bandana::features bandana::mechanisms bandana::test_support)
