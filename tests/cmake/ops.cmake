find_package(spdlog REQUIRED)
# Tests of ops; see bandana_test in cmake/bandana.cmake.
bandana_test(NAME config_file_test SRCS unit/config_file_test.cc
  DEPS bandana::server_config bandana::test_support)
bandana_test(NAME security_spec_test SRCS unit/security_spec_test.cc
  DEPS bandana::server_config bandana::test_certificates bandana::test_support)
bandana_test(NAME generated_token_test SRCS unit/generated_token_test.cc
  DEPS bandana::server_config bandana::test_support)
bandana_test(NAME generated_token_server_test SRCS integration/generated_token_server_test.cc
  DEPS bandana::ctl bandana::test_server bandana::test_support LABELS integration TIMEOUT 300)
bandana_test(NAME check_config_test SRCS integration/check_config_test.cc
  DEPS bandana::server_ops bandana::test_server bandana::test_support LABELS integration TIMEOUT 300)
bandana_test(NAME ctl_answers_test SRCS integration/ctl_answers_test.cc
  DEPS bandana::ctl bandana::test_support gRPC::grpc++ LABELS integration)
bandana_test(NAME ctl_tables_test SRCS unit/ctl_tables_test.cc DEPS bandana::ctl)
bandana_test(NAME ctl_json_test SRCS unit/ctl_json_test.cc DEPS bandana::ctl)
bandana_test(NAME ctl_part_file_test SRCS unit/ctl_part_file_test.cc DEPS bandana::ctl bandana::test_support)
bandana_test(NAME server_lifecycle_test SRCS integration/server_lifecycle_test.cc
  DEPS bandana::test_server bandana::test_support LABELS integration TIMEOUT 300)
bandana_test(NAME listeners_test SRCS integration/listeners_test.cc
  DEPS bandana::test_server bandana::test_support gRPC::grpc++ bandana::proto LABELS integration TIMEOUT 300)
bandana_test(NAME named_decisions_server_test SRCS integration/named_decisions_server_test.cc
  DEPS bandana::test_server bandana::test_support gRPC::grpc++ bandana::proto LABELS integration TIMEOUT 300)
bandana_test(NAME admin_test SRCS integration/admin_test.cc
  DEPS bandana::ctl bandana::test_server bandana::test_support LABELS integration TIMEOUT 300)
bandana_test(NAME pages_test SRCS unit/pages_test.cc DEPS bandana::server_ops)
bandana_test(NAME lift_page_test SRCS unit/lift_page_test.cc DEPS bandana::server_ops)
bandana_test(NAME lift_text_test SRCS unit/lift_text_test.cc DEPS bandana::server_config)
bandana_test(NAME lift_server_test SRCS integration/lift_server_test.cc
  DEPS bandana::ctl bandana::test_server bandana::test_support bandana::proto gRPC::grpc++ LABELS integration TIMEOUT 300)
bandana_test(NAME connection_watch_test SRCS unit/connection_watch_test.cc DEPS bandana::server_ops)
bandana_test(NAME refusal_watch_test SRCS unit/refusal_watch_test.cc DEPS bandana::server_ops)
bandana_test(NAME stop_signals_test SRCS unit/stop_signals_test.cc DEPS bandana::server_ops)
bandana_test(NAME config_update_test SRCS unit/config_update_test.cc
  DEPS bandana::server_admin bandana::test_support)
bandana_test(NAME change_without_restart_test SRCS integration/change_without_restart_test.cc
  DEPS bandana::ctl bandana::test_server bandana::test_support LABELS integration TIMEOUT 300)
bandana_test(NAME spans_test SRCS unit/spans_test.cc DEPS bandana::server_ops bandana::json bandana::test_support)
bandana_test(NAME trace_server_test SRCS integration/trace_server_test.cc
  DEPS bandana::server_api bandana::proto bandana::json bandana::test_server bandana::test_support gRPC::grpc++ LABELS integration TIMEOUT 300)
bandana_test(NAME call_lines_test SRCS unit/call_lines_test.cc
  DEPS bandana::server_ops bandana::test_support gRPC::grpc++ spdlog::spdlog)
bandana_test(NAME history_test SRCS unit/history_test.cc DEPS bandana::server_ops)
bandana_test(NAME model_state_test SRCS unit/model_state_test.cc DEPS bandana::server_ops)
bandana_test(NAME stream_guard_test SRCS unit/stream_guard_test.cc
  DEPS bandana::server_admin bandana::test_support gRPC::grpc++)
bandana_test(NAME admin_streams_test SRCS integration/admin_streams_test.cc
  DEPS bandana::server_admin bandana::test_support LABELS integration)
bandana_test(NAME export_streams_test SRCS integration/export_streams_test.cc
  DEPS bandana::server_admin bandana::ctl bandana::model_harness bandana::test_support gRPC::grpc++ LABELS integration TIMEOUT 300)
bandana_test(NAME admin_users_test SRCS integration/admin_users_test.cc
  DEPS bandana::server_admin bandana::model_harness bandana::test_support gRPC::grpc++ LABELS integration)
bandana_test(NAME export_kill_test SRCS fault/export_kill_test.cc
  DEPS bandana::ctl bandana::test_server bandana::test_support gRPC::grpc++ LABELS fault TIMEOUT 300)
bandana_test(NAME large_export_test SRCS integration/large_export_test.cc
  DEPS bandana::ctl bandana::test_server bandana::test_support LABELS integration slow TIMEOUT 7200)
bandana_test(NAME ctl_test SRCS integration/ctl_test.cc
  DEPS bandana::test_server bandana::test_support LABELS integration TIMEOUT 300)
bandana_test(NAME security_test SRCS integration/security_test.cc
  DEPS bandana::channel bandana::ctl bandana::test_certificates bandana::test_server bandana::test_support
  LABELS integration TIMEOUT 300)
bandana_test(NAME overload_test SRCS integration/overload_test.cc
  DEPS bandana::proto bandana::test_server bandana::test_support LABELS integration slow TIMEOUT 600)
bandana_test(NAME hostile_clients_test SRCS integration/hostile_clients_test.cc
  DEPS bandana::proto bandana::test_certificates bandana::test_server bandana::test_support LABELS integration slow TIMEOUT 600)
if(BANDANA_BUILD_TESTS)
  add_dependencies(ctl_test bandana-ctl)
  add_dependencies(large_export_test bandana-ctl)
  add_dependencies(security_test bandana-ctl)
  target_compile_definitions(server_lifecycle_test PRIVATE BANDANA_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
endif()
if(BANDANA_BUILD_TESTS)
  add_test(NAME status_page_browser_test COMMAND Python3::Interpreter
    ${CMAKE_CURRENT_SOURCE_DIR}/integration/status_page_browser_test.py $<TARGET_FILE:bandana-server>
    $<TARGET_FILE:bandana-fleet> ${CMAKE_CURRENT_BINARY_DIR}/status_page.png)
  set_tests_properties(status_page_browser_test PROPERTIES LABELS slow TIMEOUT 300 SKIP_RETURN_CODE 77)
endif()
if(BANDANA_BUILD_TESTS)
  # A proxy with a connection for each request; the short form is a normal test.
  foreach(calls 400 10000)
    add_test(NAME haproxy_${calls}_test COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/integration/haproxy_test.py
      $<TARGET_FILE:bandana-server> ${calls})
    set_tests_properties(haproxy_${calls}_test PROPERTIES LABELS integration TIMEOUT 300 SKIP_RETURN_CODE 77)
  endforeach()
  set_tests_properties(haproxy_10000_test PROPERTIES LABELS "integration;slow")
endif()
foreach(test owners_test owners_admin_test)
  bandana_test(NAME ${test} SRCS integration/${test}.cc
    DEPS bandana::server_ops bandana::server_admin bandana::bandits bandana::model_harness bandana::test_certificates
      bandana::test_support gRPC::grpc++
    LABELS integration TIMEOUT 300)
endforeach()
foreach(test check_config_postgres_test peers_process_test hostile_database_test)
  bandana_test(NAME ${test} SRCS fault/${test}.cc support/postgres_server.cc
    DEPS bandana::test_server bandana::test_support bandana::proto gRPC::grpc++ LABELS fault TIMEOUT 300)
endforeach()
