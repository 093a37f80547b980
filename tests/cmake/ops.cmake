# Tests of ops; see bandana_test in cmake/bandana.cmake.
bandana_test(NAME config_file_test SRCS unit/config_file_test.cc
  DEPS bandana::server_config bandana::test_support)
bandana_test(NAME ctl_json_test SRCS unit/ctl_json_test.cc DEPS bandana::ctl)
bandana_test(NAME server_lifecycle_test SRCS integration/server_lifecycle_test.cc
  DEPS bandana::test_server bandana::test_support LABELS integration TIMEOUT 300)
bandana_test(NAME admin_test SRCS integration/admin_test.cc
  DEPS bandana::ctl bandana::test_server bandana::test_support LABELS integration TIMEOUT 300)
bandana_test(NAME pages_test SRCS unit/pages_test.cc DEPS bandana::server_ops)
bandana_test(NAME admin_streams_test SRCS integration/admin_streams_test.cc
  DEPS bandana::server_admin bandana::test_support LABELS integration)
bandana_test(NAME ctl_test SRCS integration/ctl_test.cc
  DEPS bandana::test_server bandana::test_support LABELS integration TIMEOUT 300)
if(BANDANA_BUILD_TESTS)
  add_dependencies(ctl_test bandana-ctl)
  target_compile_definitions(server_lifecycle_test PRIVATE BANDANA_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
endif()
