# Tests of bandana-audit; see bandana_test in cmake/bandana.cmake.
bandana_test(NAME audit_bounds_test SRCS unit/audit_bounds_test.cc DEPS bandana::audit bandana::test_support)
bandana_test(NAME audit_test SRCS unit/audit_test.cc DEPS bandana::audit bandana::test_support absl::strings)
bandana_test(NAME audit_stat_test SRCS statistical/audit_stat_test.cc
  DEPS bandana::audit bandana::test_support LABELS statistical)
bandana_test(NAME audit_power_test SRCS statistical/audit_power_test.cc
  DEPS bandana::audit bandana::test_support LABELS statistical slow TIMEOUT 1200)
bandana_test(NAME audit_end_to_end_test SRCS integration/audit_end_to_end_test.cc
  DEPS bandana::test_server bandana::test_support LABELS integration TIMEOUT 300)
add_dependencies(audit_end_to_end_test bandana-audit)
bandana_test(NAME audit_replay_test SRCS integration/audit_replay_test.cc
  DEPS bandana::audit_replay bandana::proto bandana::test_support LABELS integration TIMEOUT 600)
if(BANDANA_BUILD_TESTS)
  target_compile_definitions(audit_test PRIVATE BANDANA_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
endif()
