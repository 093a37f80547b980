# Tests of decision logs; see bandana_test in cmake/bandana.cmake.
bandana_test(NAME decisions_jsonl_test SRCS unit/decisions_jsonl_test.cc DEPS bandana::decisions)
bandana_test(NAME check_decision_test SRCS unit/check_decision_test.cc DEPS bandana::decisions)
bandana_test(NAME stored_decision_test SRCS unit/stored_decision_test.cc DEPS bandana::decision_segments)
bandana_test(NAME decision_store_test SRCS unit/decision_store_test.cc DEPS bandana::server_decisions bandana::test_support)
bandana_test(NAME decision_formats_test SRCS unit/decision_formats_test.cc DEPS bandana::decisions bandana::json)
bandana_test(NAME decision_files_test SRCS unit/decision_files_test.cc
  DEPS bandana::decision_files bandana::sqlite bandana::test_support)
bandana_test(NAME csv_reader_test SRCS unit/csv_reader_test.cc DEPS bandana::decisions)
bandana_test(NAME decision_readers_test SRCS unit/decision_readers_test.cc DEPS bandana::decisions)
bandana_test(NAME judgeable_test SRCS unit/judgeable_test.cc DEPS bandana::design)
bandana_test(NAME context_json_test SRCS unit/context_json_test.cc DEPS bandana::server_service bandana::json bandana::proto)
bandana_test(NAME decision_log_config_test SRCS unit/decision_log_config_test.cc DEPS bandana::design)
bandana_test(NAME decision_logging_test SRCS unit/decision_logging_test.cc
  DEPS bandana::model_harness bandana::server_service bandana::test_support)
bandana_test(NAME decision_log_server_test SRCS integration/decision_log_server_test.cc
  DEPS bandana::ctl bandana::decisions bandana::test_server bandana::test_support bandana::proto gRPC::grpc++
  LABELS integration TIMEOUT 300)
bandana_test(NAME log_parts_test SRCS unit/log_parts_test.cc DEPS bandana::server_decisions bandana::test_support)
bandana_test(NAME decision_parts_test SRCS fault/decision_parts_test.cc support/postgres_server.cc
  DEPS bandana::ctl bandana::decisions bandana::test_server bandana::test_support bandana::proto gRPC::grpc++
  LABELS fault TIMEOUT 300)
# The truth of Last.fm beside estimates and lift: minutes.
if(BANDANA_BUILD_TESTS)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  add_test(NAME lift_lastfm_test COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/simulation/lift_lastfm_test.py
    $<TARGET_FILE_DIR:bandana-server>)
  set_tests_properties(lift_lastfm_test PROPERTIES LABELS "simulation;slow" TIMEOUT 3600 SKIP_RETURN_CODE 77)
endif()
# `./dev full`: many kills.
if(BANDANA_BUILD_TESTS)
  add_test(NAME decision_log_kill_many_test COMMAND decision_log_server_test --gtest_filter=*Kills*)
  set_tests_properties(decision_log_kill_many_test PROPERTIES LABELS "fault;slow" TIMEOUT 3600
    ENVIRONMENT BANDANA_KILL_CYCLES=40)
endif()
