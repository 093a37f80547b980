# Tests of client; see bandana_test in cmake/bandana.cmake.
bandana_library(NAME fake_recommender SRCS support/fake_recommender.cc
  PUBLIC_DEPS bandana::proto bandana::design bandana::base)
set(client_deps bandana::client bandana::fake_recommender bandana::test_support)

add_library(client_public_headers OBJECT unit/client_public_headers.cc)
target_include_directories(client_public_headers PRIVATE ${PROJECT_SOURCE_DIR}/client/include)
target_link_libraries(client_public_headers PRIVATE absl::statusor absl::time)
bandana_warnings(client_public_headers)
bandana_test(NAME client_headers_test SRCS unit/client_headers_test.cc $<TARGET_OBJECTS:client_public_headers>
  DEPS bandana::client OWN_HEADERS)
bandana_test(NAME device_store_test SRCS unit/device_store_test.cc DEPS bandana::client bandana::test_support)
bandana_test(NAME device_safety_test SRCS unit/device_safety_test.cc
  DEPS bandana::client bandana::test_support SQLite::SQLite3)
bandana_test(NAME device_ledger_test SRCS unit/device_ledger_test.cc DEPS bandana::client bandana::test_support)
bandana_test(NAME device_rows_test SRCS unit/device_rows_test.cc DEPS bandana::client bandana::test_support)
bandana_library(NAME hostile_host SRCS support/hostile_host.cc
  PUBLIC_DEPS bandana::client bandana::proto bandana::design bandana::test_support)
bandana_test(NAME device_step_test SRCS unit/device_step_test.cc DEPS ${client_deps} bandana::hostile_host)
bandana_test(NAME counter_stream_test SRCS unit/counter_stream_test.cc DEPS ${client_deps})
bandana_test(NAME client_policy_test SRCS unit/client_policy_test.cc DEPS ${client_deps})
bandana_test(NAME client_delivery_test SRCS integration/client_delivery_test.cc DEPS ${client_deps} LABELS integration)
bandana_test(NAME client_parts_test SRCS unit/client_parts_test.cc DEPS ${client_deps})
bandana_test(NAME callback_test SRCS unit/callback_test.cc DEPS bandana::client)
bandana_test(NAME delivery_messages_test SRCS unit/delivery_messages_test.cc DEPS bandana::client bandana::proto)
bandana_test(NAME arm_effects_test SRCS unit/arm_effects_test.cc DEPS ${client_deps})
bandana_test(NAME client_context_test SRCS integration/client_context_test.cc DEPS ${client_deps} LABELS integration)
bandana_test(NAME client_counter_test SRCS integration/client_counter_test.cc DEPS ${client_deps} LABELS integration)
bandana_test(NAME client_window_test SRCS integration/client_window_test.cc DEPS ${client_deps} LABELS integration)
bandana_test(NAME client_policy_change_test SRCS integration/client_policy_change_test.cc DEPS ${client_deps}
  LABELS integration)
bandana_test(NAME client_leave_test SRCS integration/client_leave_test.cc DEPS ${client_deps} absl::str_format
  LABELS integration)
bandana_test(NAME client_clock_test SRCS integration/client_clock_test.cc DEPS ${client_deps} LABELS integration)
bandana_test(NAME client_slots_test SRCS integration/client_slots_test.cc DEPS ${client_deps} LABELS integration)
bandana_test(NAME client_deferral_test SRCS integration/client_deferral_test.cc DEPS ${client_deps} LABELS integration)
bandana_test(NAME client_on_device_test SRCS integration/client_on_device_test.cc DEPS ${client_deps} LABELS integration)
bandana_test(NAME client_points_test SRCS integration/client_points_test.cc DEPS ${client_deps} LABELS integration)
bandana_test(NAME client_privacy_test SRCS integration/client_privacy_test.cc DEPS ${client_deps}
  LABELS integration statistical)
bandana_test(NAME client_centred_test SRCS integration/client_centred_test.cc DEPS ${client_deps} LABELS integration)
bandana_test(NAME client_kill_test SRCS fault/client_kill_test.cc DEPS ${client_deps} LABELS fault)
bandana_test(NAME device_crash_test SRCS fault/device_crash_test.cc support/fault_vfs.cc
  DEPS ${client_deps} SQLite::SQLite3 LABELS fault TIMEOUT 300)
bandana_test(NAME client_server_test SRCS integration/client_server_test.cc
  DEPS bandana::client bandana::ctl bandana::test_server bandana::test_support LABELS integration TIMEOUT 300)
bandana_test(NAME effects_on_device_test SRCS integration/effects_on_device_test.cc
  DEPS bandana::client bandana::ctl bandana::test_server bandana::test_support LABELS integration TIMEOUT 300)
bandana_test(NAME central_server_test SRCS integration/central_server_test.cc
  DEPS bandana::client bandana::ctl bandana::test_server bandana::test_support LABELS integration TIMEOUT 300)
bandana_test(NAME counter_server_test SRCS integration/counter_server_test.cc
  DEPS bandana::client bandana::ctl bandana::test_server bandana::test_support LABELS integration TIMEOUT 300)
bandana_test(NAME context_server_test SRCS integration/context_server_test.cc
  DEPS bandana::client bandana::ctl bandana::proto bandana::test_server bandana::test_support gRPC::grpc++ LABELS integration TIMEOUT 300)
bandana_test(NAME device_disk_test SRCS fault/device_disk_test.cc support/fault_vfs.cc
  DEPS ${client_deps} SQLite::SQLite3 LABELS fault)
add_test(NAME held_reward_types_test COMMAND Python3::Interpreter
  ${PROJECT_SOURCE_DIR}/tests/compile_fail/held_reward_types_test.py ${CMAKE_CXX_COMPILER}
  ${PROJECT_SOURCE_DIR})
set_tests_properties(held_reward_types_test PROPERTIES LABELS "unit;compile" TIMEOUT 300)

# The example of docs/sdk.md.
add_subdirectory(${PROJECT_SOURCE_DIR}/examples/quickstart ${PROJECT_BINARY_DIR}/examples/quickstart)
bandana_test(NAME alias_test SRCS integration/alias_test.cc
  DEPS bandana::client bandana::ctl bandana::test_server bandana::test_support gRPC::grpc++ LABELS integration TIMEOUT 300)
bandana_test(NAME quickstart_test SRCS integration/quickstart_test.cc
  DEPS bandana::test_server bandana::test_support LABELS integration)
add_dependencies(quickstart_test quickstart)
target_compile_definitions(quickstart_test PRIVATE QUICKSTART_PROGRAM="$<TARGET_FILE:quickstart>"
  QUICKSTART_CONFIG="${PROJECT_SOURCE_DIR}/examples/quickstart/server.textproto")
if(NOT BANDANA_SANITIZE)
  add_test(NAME sdk_before_test COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/integration/sdk_before_test.py
    $<TARGET_FILE:bandana-server> $<TARGET_FILE:quickstart> ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}/sdk_before)
  set_tests_properties(sdk_before_test PROPERTIES LABELS "integration;slow" TIMEOUT 1800 SKIP_RETURN_CODE 77)
endif()

bandana_test(NAME policy_text_test SRCS unit/policy_text_test.cc
  DEPS bandana::fake_recommender bandana::design bandana::test_support absl::strings)
bandana_test(NAME public_spec_property_test SRCS property/public_spec_property_test.cc
  DEPS bandana::fake_recommender bandana::design bandana::test_support bandana::test_wire LABELS property)
bandana_test(NAME selection_messages_property_test SRCS property/selection_messages_property_test.cc
  DEPS bandana::client bandana::proto bandana::test_support bandana::test_wire LABELS property)

# The core without Abseil and OpenSSL: their stand-ins.
set(core_stand_in ${PROJECT_SOURCE_DIR}/client/core/stand_in)
bandana_test(NAME report_bytes_property_test SRCS property/report_bytes_property_test.cc DEPS bandana::client bandana::proto bandana::test_support LABELS property)
bandana_test(NAME plain_chacha20_test SRCS unit/plain_chacha20_test.cc ${core_stand_in}/plain_chacha20.cc DEPS bandana::base bandana::random)
bandana_test(NAME plain_sha256_test SRCS unit/plain_sha256_test.cc ${core_stand_in}/plain_sha256.cc DEPS bandana::base)
bandana_test(NAME stand_in_of_abseil_test SRCS unit/stand_in_test.cc DEPS bandana::base absl::statusor absl::time)
bandana_test(NAME stand_in_test SRCS unit/stand_in_test.cc OWN_HEADERS)
target_include_directories(stand_in_test BEFORE PRIVATE ${core_stand_in} ${PROJECT_SOURCE_DIR})

# The C interface: tests see its header and its library alone.
bandana_library(NAME abi_host SRCS support/abi_host.cc PUBLIC_DEPS bandana::shared)
bandana_test(NAME abi_test SRCS unit/abi_test.cc DEPS bandana::abi_host bandana::fake_recommender bandana::test_support)
bandana_test(NAME abi_adopt_test SRCS unit/abi_adopt_test.cc DEPS bandana::abi_host bandana::fake_recommender bandana::test_support)
bandana_test(NAME abi_activate_test SRCS unit/abi_activate_test.cc DEPS bandana::abi_host bandana::fake_recommender bandana::test_support)
add_test(NAME abi_symbols_test COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tools/check/check_abi.py --library $<TARGET_FILE:bandana_shared>)
set_tests_properties(abi_symbols_test PROPERTIES LABELS unit TIMEOUT 60)
# The example in C.
if(TARGET first_report)
  bandana_test(NAME c_example_test SRCS integration/c_example_test.cc DEPS bandana::test_server bandana::test_support LABELS integration)
  add_dependencies(c_example_test first_report)
  target_compile_definitions(c_example_test PRIVATE FIRST_REPORT_PROGRAM="$<TARGET_FILE:first_report>"
    QUICKSTART_CONFIG="${PROJECT_SOURCE_DIR}/examples/quickstart/server.textproto")
endif()
# As WebAssembly. The bound on its size is what it has, and a little.
find_program(NODE node)
if(TARGET bandana_wasm AND NODE AND NOT BANDANA_SANITIZE)
  add_test(NAME wasm_module_test COMMAND ${NODE} ${CMAKE_CURRENT_SOURCE_DIR}/wasm/module_test.mjs ${BANDANA_WASM} 147000)
  set_tests_properties(wasm_module_test PROPERTIES LABELS unit TIMEOUT 60)
  add_test(NAME js_sdk_test COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/js/node_test.py $<TARGET_FILE:bandana-server> ${BANDANA_JS} ${NODE})
  set_tests_properties(js_sdk_test PROPERTIES LABELS integration TIMEOUT 120)
  add_test(NAME js_recorded_test COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/js/recorded_test.py ${NODE} ${BANDANA_JS}
    ${CMAKE_CURRENT_SOURCE_DIR}/vectors 20)
  set_tests_properties(js_recorded_test PROPERTIES LABELS unit TIMEOUT 300)
  add_test(NAME js_browser_test COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/js/browser_test.py $<TARGET_FILE:bandana-server> ${BANDANA_JS})
  add_test(NAME js_faults_test COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/js/faults_test.py $<TARGET_FILE:bandana-server> ${BANDANA_JS})
  add_test(NAME js_kill_test COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/js/kill_test.py $<TARGET_FILE:bandana-server> ${BANDANA_JS})
  set_tests_properties(js_browser_test js_faults_test js_kill_test PROPERTIES LABELS "integration;slow" TIMEOUT 900 SKIP_RETURN_CODE 77)
endif()
