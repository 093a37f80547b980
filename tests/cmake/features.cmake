# Tests of features; see bandana_test in cmake/bandana.cmake.
bandana_test(NAME feature_schema_test SRCS unit/feature_schema_test.cc
  DEPS bandana::design bandana::test_support)
bandana_test(NAME feature_encoder_test SRCS unit/feature_encoder_test.cc
  DEPS bandana::design bandana::test_support)
bandana_test(NAME features_property_test SRCS property/features_property_test.cc
  DEPS bandana::design bandana::mechanisms bandana::test_support)
bandana_test(NAME features_config_test SRCS unit/features_config_test.cc
  DEPS bandana::design bandana::test_support)
bandana_test(NAME recipes_test SRCS unit/recipes_test.cc
  DEPS bandana::server_config bandana::test_support)
bandana_test(NAME ctl_features_test SRCS unit/ctl_features_test.cc
  DEPS bandana::ctl bandana::test_support)
bandana_test(NAME named_features_test SRCS integration/named_features_test.cc
  DEPS bandana::client bandana::ctl bandana::test_server bandana::test_support LABELS integration TIMEOUT 300)

# The shops of docs/design/features.md.
add_subdirectory(${PROJECT_SOURCE_DIR}/examples/shop ${PROJECT_BINARY_DIR}/examples/shop)
bandana_test(NAME shop_examples_test SRCS integration/shop_examples_test.cc
  DEPS bandana::test_server bandana::test_support LABELS integration)
add_dependencies(shop_examples_test shop_sdk shop_grpc)
target_compile_definitions(shop_examples_test PRIVATE SHOP_GRPC="$<TARGET_FILE:shop_grpc>"
  SHOP_SDK="$<TARGET_FILE:shop_sdk>" SHOP_CONFIG="${PROJECT_SOURCE_DIR}/examples/shop/server.textproto")
bandana_test(NAME shop_world_stat_test SRCS statistical/shop_world_stat_test.cc
  DEPS bandana::design bandana::bandits bandana::mechanisms bandana::test_support LABELS statistical)
