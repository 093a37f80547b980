# Tests of the HTTP API; see bandana_test in cmake/bandana.cmake.
find_package(nlohmann_json REQUIRED)
bandana_test(NAME json_call_test SRCS unit/json_call_test.cc DEPS bandana::server_api bandana::proto bandana::test_support)
bandana_test(NAME json_writer_test SRCS unit/json_writer_test.cc DEPS bandana::server_api bandana::proto bandana::test_support)
bandana_test(NAME json_mapping_property_test SRCS property/json_mapping_property_test.cc
  DEPS bandana::server_api bandana::proto bandana::test_json bandana::test_support)
bandana_test(NAME grpc_web_test SRCS unit/grpc_web_test.cc
  DEPS bandana::server_api bandana::json bandana::proto bandana::test_support)
bandana_test(NAME personalizer_calls_test SRCS unit/personalizer_calls_test.cc
  DEPS bandana::server_api bandana::json bandana::proto bandana::test_support)
bandana_test(NAME api_server_test SRCS integration/api_server_test.cc LABELS integration
  DEPS bandana::server_api bandana::json bandana::proto bandana::test_server bandana::test_support)
bandana_test(NAME http_front_test SRCS integration/http_front_test.cc LABELS integration
  DEPS bandana::server_api bandana::test_server bandana::test_support)
bandana_test(NAME api_http_test SRCS integration/api_http_test.cc LABELS integration
  DEPS bandana::server_api bandana::json bandana::proto bandana::test_server bandana::test_support)
bandana_test(NAME personalizer_api_test SRCS integration/personalizer_api_test.cc LABELS integration
  DEPS bandana::server_api bandana::json bandana::proto bandana::test_server bandana::test_support)
bandana_test(NAME first_bytes_test SRCS unit/first_bytes_test.cc
  DEPS bandana::server_connections bandana::test_certificates bandana::test_support OpenSSL::SSL)
bandana_test(NAME admin_routes_test SRCS unit/admin_routes_test.cc DEPS bandana::server_api bandana::test_support)
if(BANDANA_BUILD_TESTS)
  target_compile_definitions(admin_routes_test PRIVATE BANDANA_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
endif()
bandana_test(NAME admin_rows_test SRCS unit/admin_rows_test.cc DEPS bandana::server_api bandana::proto bandana::test_support)
bandana_test(NAME admin_http_test SRCS integration/admin_http_test.cc LABELS integration TIMEOUT 300
  DEPS bandana::json bandana::proto bandana::test_server bandana::test_support)
bandana_test(NAME console_test SRCS integration/console_test.cc LABELS integration TIMEOUT 300
  DEPS bandana::json bandana::test_server bandana::test_support)
bandana_test(NAME api_process_test SRCS integration/api_process_test.cc LABELS integration TIMEOUT 300
  DEPS bandana::json bandana::proto bandana::test_certificates bandana::test_server bandana::test_support bandana::test_tokens OpenSSL::SSL
       gRPC::grpc++ OpenSSL::SSL)
if(BANDANA_BUILD_TESTS)
  # The examples of docs/http.md and examples/, as written.
  add_test(NAME http_examples_test COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/integration/http_examples_test.py
    $<TARGET_FILE:bandana-server> ${PROJECT_SOURCE_DIR})
  set_tests_properties(http_examples_test PROPERTIES LABELS integration TIMEOUT 300 SKIP_RETURN_CODE 77)
  # Pages of another origin, in Chromium.
  add_test(NAME api_browser_test COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/integration/api_browser_test.py
    $<TARGET_FILE:bandana-server>)
  set_tests_properties(api_browser_test PROPERTIES LABELS "integration;slow" TIMEOUT 300 SKIP_RETURN_CODE 77)
  # The console in Chromium, with axe-core where it is.
  add_test(NAME console_browser_test COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/integration/console_browser_test.py
    $<TARGET_FILE:bandana-server> ${PROJECT_SOURCE_DIR}/build/npm ${CMAKE_CURRENT_BINARY_DIR}/console.png)
  set_tests_properties(console_browser_test PROPERTIES LABELS "integration;slow" TIMEOUT 900 SKIP_RETURN_CODE 77)
  # Microsoft's client of Personalizer, unchanged, and a checker of OpenAPI documents: `npm ci` of tests/npm put them into the
  # build folder (./dev setup --full).
  foreach(test personalizer_client_test openapi_document_test)
    add_test(NAME ${test} COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/npm/${test}.py $<TARGET_FILE:bandana-server>
      ${PROJECT_SOURCE_DIR}/build/npm)
    set_tests_properties(${test} PROPERTIES LABELS "integration;slow" TIMEOUT 300 SKIP_RETURN_CODE 77)
  endforeach()
endif()
