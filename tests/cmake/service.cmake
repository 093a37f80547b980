# Tests of service; see bandana_test in cmake/bandana.cmake.
bandana_test(NAME aside_test SRCS unit/aside_test.cc DEPS bandana::server_service gRPC::grpc++)
bandana_test(NAME feature_ball_test SRCS unit/feature_ball_test.cc
  DEPS bandana::client bandana::server_service bandana::proto bandana::test_support)
bandana_test(NAME token_test SRCS unit/token_test.cc
  DEPS bandana::server_service bandana::proto bandana::test_support)
bandana_test(NAME token_keys_test SRCS unit/token_keys_test.cc
  DEPS bandana::server_service bandana::proto bandana::test_support)
bandana_test(NAME random_buffer_test SRCS unit/random_buffer_test.cc
  DEPS bandana::server_service bandana::test_support)
bandana_test(NAME catalogue_search_test SRCS unit/catalogue_search_test.cc DEPS bandana::server_service bandana::test_support)
bandana_test(NAME served_rules_test SRCS unit/served_rules_test.cc
  DEPS bandana::server_service bandana::bandits bandana::proto bandana::design bandana::test_support)
bandana_test(NAME long_lists_test SRCS unit/long_lists_test.cc
  DEPS bandana::server_service bandana::bandits bandana::proto bandana::design bandana::test_support)
bandana_test(NAME arm_effects_page_test SRCS unit/arm_effects_page_test.cc
  DEPS bandana::server_service ${model_deps})
bandana_test(NAME recommender_test SRCS unit/recommender_test.cc
  DEPS bandana::server_service bandana::bandits bandana::proto bandana::design bandana::test_support)
bandana_test(NAME agreed_policy_test SRCS unit/agreed_policy_test.cc
  DEPS bandana::server_service bandana::bandits bandana::proto bandana::design bandana::test_support)
bandana_test(NAME decisions_test SRCS unit/decisions_test.cc
  DEPS bandana::server_service bandana::bandits bandana::ranking bandana::proto bandana::design
    bandana::test_support)
bandana_test(NAME decision_index_test SRCS unit/decision_index_test.cc
  DEPS bandana::server_service bandana::test_support)
bandana_test(NAME alias_calls_test SRCS unit/alias_calls_test.cc
  DEPS bandana::server_service bandana::bandits bandana::proto bandana::design bandana::test_support)
bandana_test(NAME point_selection_test SRCS unit/point_selection_test.cc
  DEPS bandana::server_service bandana::bandits bandana::proto bandana::design bandana::test_support)
bandana_test(NAME sparse_select_test SRCS unit/sparse_select_test.cc
  DEPS bandana::server_service bandana::bandits bandana::proto bandana::design bandana::test_support)
bandana_test(NAME context_reports_test SRCS unit/context_reports_test.cc
  DEPS bandana::server_service bandana::bandits bandana::proto bandana::design bandana::test_support)
bandana_test(NAME counter_reports_test SRCS unit/counter_reports_test.cc
  DEPS bandana::server_service bandana::bandits bandana::proto bandana::design bandana::test_support)
bandana_test(NAME access_test SRCS unit/access_test.cc DEPS bandana::server_service bandana::proto)
bandana_test(NAME gatekeeper_test SRCS unit/gatekeeper_test.cc
  DEPS bandana::server_service bandana::test_support gRPC::grpc++)
bandana_test(NAME jwt_test SRCS unit/jwt_test.cc
  DEPS bandana::server_service bandana::test_support bandana::test_tokens OpenSSL::Crypto)
bandana_test(NAME connection_table_test SRCS unit/connection_table_test.cc DEPS bandana::server_connections)
bandana_test(NAME host_name_test SRCS unit/host_name_test.cc DEPS bandana::server_connections)
bandana_test(NAME listen_addresses_test SRCS unit/listen_addresses_test.cc DEPS bandana::server_connections)
bandana_test(NAME flood_watch_test SRCS unit/flood_watch_test.cc DEPS bandana::server_connections)
bandana_test(NAME call_log_test SRCS unit/call_log_test.cc DEPS bandana::server_service gRPC::grpc++)
bandana_test(NAME taken_call_test SRCS unit/taken_call_test.cc
  DEPS bandana::server_service bandana::proto bandana::test_support gRPC::grpc++)
bandana_test(NAME connections_test SRCS integration/connections_test.cc support/raw_http2.cc LABELS integration
  DEPS bandana::server_service bandana::proto bandana::test_support gRPC::grpc++)
bandana_test(NAME tls_files_test SRCS unit/tls_files_test.cc
  DEPS bandana::channel bandana::server_tls bandana::test_certificates bandana::test_support)
bandana_test(NAME slow_reader_test SRCS integration/slow_reader_test.cc support/raw_http2.cc LABELS integration
  DEPS bandana::server_service bandana::proto bandana::test_support gRPC::grpc++)
foreach(test grpc_server_test grpc_server_stress_test grpc_health_test)
  bandana_test(NAME ${test} SRCS integration/${test}.cc LABELS integration TIMEOUT 300
    DEPS bandana::server_service bandana::proto bandana::test_support gRPC::grpc++)
endforeach()
