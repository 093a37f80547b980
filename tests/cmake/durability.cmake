# Simulated servers, devices and networks of one seed each; see bandana_test in cmake/bandana.cmake.
bandana_test(NAME simulation_test
  SRCS simulation/simulation_test.cc simulation/history.cc simulation/sim_server.cc simulation/world.cc support/crash_vfs.cc
    ${PROJECT_SOURCE_DIR}/client/core/counter_stream.cc ${PROJECT_SOURCE_DIR}/client/core/held_reward.cc
  DEPS ${model_deps} bandana::counters SQLite::SQLite3 LABELS simulation TIMEOUT 300)
# `./dev full`: thousands of seeds. BANDANA_SIMULATION_SEEDS=20000 before a release takes 50 minutes.
if(BANDANA_BUILD_TESTS)
  add_test(NAME simulation_many_test COMMAND simulation_test --gtest_filter=SimulationTest.*)
  set_tests_properties(simulation_many_test PROPERTIES LABELS "simulation;slow" TIMEOUT 7200
    ENVIRONMENT BANDANA_SIMULATION_SEEDS=4000)
endif()

# Faults: the real server killed under load, a bad network, flipped bits; and files of older versions.
set(server_deps bandana::client bandana::ctl bandana::test_server bandana::test_support)
bandana_test(NAME server_kill_test SRCS fault/server_kill_test.cc DEPS ${server_deps} bandana::proto gRPC::grpc++
  LABELS fault TIMEOUT 300)
bandana_test(NAME network_fault_test SRCS fault/network_fault_test.cc support/fault_proxy.cc DEPS ${server_deps}
  LABELS fault TIMEOUT 300)
bandana_test(NAME model_flip_test SRCS fault/model_flip_test.cc DEPS ${model_deps} LABELS fault TIMEOUT 300)
bandana_test(NAME formats_golden_test SRCS golden/formats_golden_test.cc
  DEPS ${model_deps} bandana::client SQLite::SQLite3 LABELS golden)
bandana_test(NAME wire_golden_test SRCS golden/wire_golden_test.cc golden/conversation.cc
  DEPS ${model_deps} bandana::client bandana::server_service LABELS golden)
if(BANDANA_BUILD_TESTS)
  target_compile_definitions(formats_golden_test PRIVATE
    BANDANA_FORMATS_DIR="${CMAKE_CURRENT_SOURCE_DIR}/golden/formats")
  target_compile_definitions(wire_golden_test PRIVATE BANDANA_WIRE_DIR="${CMAKE_CURRENT_SOURCE_DIR}/golden/wire")
  add_test(NAME server_kill_many_test COMMAND server_kill_test)
  set_tests_properties(server_kill_many_test PROPERTIES LABELS "fault;slow" TIMEOUT 7200
    ENVIRONMENT BANDANA_KILL_CYCLES=200)
  add_test(NAME model_flip_many_test COMMAND model_flip_test)
  set_tests_properties(model_flip_many_test PROPERTIES LABELS "fault;slow" TIMEOUT 7200 ENVIRONMENT BANDANA_FLIPS=300)
endif()
bandana_test(NAME clock_process_test SRCS fault/clock_process_test.cc support/postgres_server.cc
  DEPS bandana::test_server bandana::test_support bandana::proto gRPC::grpc++ LABELS fault TIMEOUT 300)
bandana_test(NAME shutdown_clock_test SRCS fault/shutdown_clock_test.cc
  DEPS bandana::server_api bandana::server_service bandana::test_server bandana::test_support gRPC::grpc++ LABELS fault)
bandana_test(NAME full_disk_test SRCS fault/full_disk_test.cc
  DEPS bandana::proto bandana::test_server bandana::test_support gRPC::grpc++ LABELS fault TIMEOUT 300)
bandana_test(NAME restore_test SRCS fault/restore_test.cc
  DEPS ${model_deps} bandana::test_server LABELS fault TIMEOUT 300)
if(BANDANA_BUILD_TESTS)
  add_dependencies(restore_test bandana-ctl)
endif()
bandana_test(NAME checkpoint_kill_test SRCS fault/checkpoint_kill_test.cc
  DEPS bandana::server_models bandana::test_support LABELS fault)
