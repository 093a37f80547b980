# Tests of bandana-audit; see bandana_test in cmake/bandana.cmake.
bandana_test(NAME audit_bounds_test SRCS unit/audit_bounds_test.cc DEPS bandana::audit bandana::test_support)
bandana_test(NAME audit_test SRCS unit/audit_test.cc DEPS bandana::audit bandana::test_support absl::strings)
bandana_test(NAME audit_stat_test SRCS statistical/audit_stat_test.cc
  DEPS bandana::audit bandana::test_support LABELS statistical)
bandana_test(NAME audit_power_test SRCS statistical/audit_power_test.cc
  DEPS bandana::audit bandana::test_support LABELS statistical slow TIMEOUT 7200)
bandana_test(NAME audit_end_to_end_test SRCS integration/audit_end_to_end_test.cc
  DEPS bandana::test_server bandana::test_support LABELS integration TIMEOUT 300)
add_dependencies(audit_end_to_end_test bandana-audit)
bandana_test(NAME audit_replay_test SRCS integration/audit_replay_test.cc
  DEPS bandana::audit_replay bandana::proto bandana::test_support LABELS integration TIMEOUT 600)
bandana_test(NAME transcript_test SRCS integration/transcript_test.cc ${PROJECT_SOURCE_DIR}/tools/audit/transcript/audit_bits.cc
  DEPS bandana::audit_transcript bandana::test_support LABELS integration TIMEOUT 900)
bandana_test(NAME process_life_test SRCS integration/process_life_test.cc ${PROJECT_SOURCE_DIR}/tools/audit/transcript/audit_bits.cc
  DEPS bandana::audit_transcript bandana::test_support LABELS integration)
# Ten seeds of every combination by day, two under a sanitizer; thirty by night. A release is audited with more:
# bandana-audit transcript --seeds 10000 (half an hour).
if(BANDANA_BUILD_TESTS)
  set(TRANSCRIPT_SEEDS 1680)
  if(BANDANA_SANITIZE)
    set(TRANSCRIPT_SEEDS 336)
  endif()
  add_test(NAME transcript_audit_test COMMAND bandana-audit transcript --seeds ${TRANSCRIPT_SEEDS})
  set_tests_properties(transcript_audit_test PROPERTIES LABELS integration TIMEOUT 900 PROCESSORS 2)
  add_test(NAME transcript_audit_slow_test COMMAND bandana-audit transcript --seed 1000000 --seeds 5040)
  set_tests_properties(transcript_audit_slow_test PROPERTIES LABELS "integration;slow" TIMEOUT 7200)
endif()
if(BANDANA_BUILD_TESTS)
  target_compile_definitions(audit_test PRIVATE BANDANA_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_compile_definitions(transcript_test PRIVATE BANDANA_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
endif()
