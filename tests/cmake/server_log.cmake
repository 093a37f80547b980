# Tests of server_log and server_models; see bandana_test in cmake/bandana.cmake.
bandana_library(NAME model_harness SRCS support/fault_vfs.cc support/model_harness.cc
  PUBLIC_DEPS bandana::server_models bandana::test_support
  PRIVATE_DEPS SQLite::SQLite3)
set(model_deps bandana::model_harness bandana::server_models bandana::test_support)

bandana_test(NAME ledger_readings_test SRCS unit/ledger_readings_test.cc DEPS ${model_deps} bandana::accounting)
bandana_test(NAME arms_model_test SRCS unit/arms_model_test.cc DEPS ${model_deps})
bandana_test(NAME points_model_test SRCS unit/points_model_test.cc DEPS ${model_deps})
bandana_test(NAME effects_served_test SRCS unit/effects_served_test.cc DEPS ${model_deps})
bandana_test(NAME forgetting_test SRCS unit/forgetting_test.cc DEPS ${model_deps})
bandana_test(NAME key_freeing_test SRCS unit/key_freeing_test.cc DEPS ${model_deps})
bandana_test(NAME learnt_rewards_test SRCS unit/learnt_rewards_test.cc DEPS ${model_deps})
bandana_test(NAME hosted_model_test SRCS unit/hosted_model_test.cc DEPS ${model_deps})
bandana_test(NAME user_life_test SRCS unit/user_life_test.cc DEPS ${model_deps})
bandana_test(NAME open_windows_test SRCS unit/open_windows_test.cc DEPS ${model_deps} SQLite::SQLite3)
bandana_test(NAME deferred_decisions_test SRCS unit/deferred_decisions_test.cc DEPS ${model_deps})
bandana_test(NAME stepped_model_test SRCS unit/stepped_model_test.cc DEPS ${model_deps})
bandana_test(NAME hosted_model_admin_test SRCS unit/hosted_model_admin_test.cc DEPS ${model_deps})
bandana_test(NAME sqlite_log_test SRCS unit/sqlite_log_test.cc DEPS ${model_deps} SQLite::SQLite3)
bandana_test(NAME sqlite_trim_test SRCS unit/sqlite_trim_test.cc DEPS ${model_deps} SQLite::SQLite3)
bandana_test(NAME wal_checkpointer_test SRCS unit/wal_checkpointer_test.cc DEPS ${model_deps} SQLite::SQLite3)
bandana_test(NAME log_erasure_test SRCS unit/log_erasure_test.cc DEPS ${model_deps})
bandana_test(NAME log_conformance_test SRCS fault/log_conformance_test.cc support/fault_proxy.cc support/postgres_server.cc
  DEPS ${model_deps} bandana::server_log_postgresql bandana::test_server LABELS fault TIMEOUT 300)
bandana_test(NAME state_conformance_test SRCS fault/state_conformance_test.cc support/fault_proxy.cc
  support/postgres_server.cc DEPS ${model_deps} bandana::server_log_postgresql bandana::test_server LABELS fault TIMEOUT 300)
bandana_test(NAME replicas_test SRCS fault/replicas_test.cc support/postgres_server.cc
  DEPS ${model_deps} bandana::server_log_postgresql bandana::test_server LABELS fault TIMEOUT 300)
bandana_test(NAME restored_cluster_test SRCS fault/restored_cluster_test.cc support/postgres_server.cc
  DEPS ${model_deps} bandana::server_log_postgresql bandana::test_server LABELS fault TIMEOUT 600)
bandana_test(NAME standing_test SRCS unit/standing_test.cc DEPS bandana::server_service bandana::test_support)
bandana_test(NAME role_machine_test SRCS unit/role_machine_test.cc DEPS bandana::server_models)
bandana_test(NAME cluster_test SRCS fault/cluster_test.cc support/fault_proxy.cc support/postgres_server.cc
  DEPS ${model_deps} bandana::test_server gRPC::grpc++ LABELS fault TIMEOUT 600)
set_tests_properties(cluster_test PROPERTIES RUN_SERIAL TRUE)  # three servers and two databases
bandana_test(NAME postgres_model_test SRCS fault/postgres_model_test.cc support/fault_proxy.cc support/postgres_server.cc
  DEPS ${model_deps} bandana::server_log_postgresql bandana::test_server LABELS fault TIMEOUT 300)
bandana_test(NAME postgres_users_test SRCS fault/postgres_users_test.cc support/postgres_server.cc
  DEPS bandana::proto bandana::test_server bandana::test_support gRPC::grpc++ LABELS fault TIMEOUT 300)
bandana_test(NAME postgres_restore_test SRCS fault/postgres_restore_test.cc support/postgres_server.cc
  DEPS ${model_deps} bandana::server_log_postgresql bandana::test_server LABELS fault TIMEOUT 300)
if(BANDANA_BUILD_TESTS)
  add_dependencies(postgres_restore_test bandana-ctl)
endif()
bandana_test(NAME log_engine_test SRCS unit/log_engine_test.cc DEPS ${model_deps} SQLite::SQLite3)
bandana_test(NAME clock_jumps_property_test SRCS property/clock_jumps_property_test.cc DEPS ${model_deps}
  LABELS property TIMEOUT 300)
bandana_test(NAME waiting_decisions_test SRCS unit/waiting_decisions_test.cc DEPS ${model_deps})
bandana_test(NAME log_clock_test SRCS unit/log_clock_test.cc DEPS ${model_deps})
bandana_test(NAME hosted_model_property_test SRCS property/hosted_model_property_test.cc DEPS ${model_deps}
  LABELS property TIMEOUT 300)
bandana_test(NAME model_kill_test SRCS fault/model_kill_test.cc DEPS ${model_deps} LABELS fault TIMEOUT 300)
bandana_test(NAME model_damage_test SRCS fault/model_damage_test.cc DEPS ${model_deps} LABELS fault)
bandana_test(NAME log_writer_test SRCS unit/log_writer_test.cc DEPS ${model_deps})
bandana_test(NAME admission_property_test SRCS property/admission_property_test.cc DEPS ${model_deps}
  LABELS property TIMEOUT 300)
bandana_test(NAME admission_parts_test SRCS unit/admission_parts_test.cc DEPS ${model_deps})
bandana_test(NAME report_gate_test SRCS unit/report_gate_test.cc DEPS ${model_deps})
bandana_test(NAME event_path_test SRCS unit/event_path_test.cc DEPS ${model_deps} bandana::random)
bandana_test(NAME arm_facts_test SRCS unit/arm_facts_test.cc DEPS ${model_deps})
bandana_test(NAME arm_event_counts_test SRCS unit/arm_event_counts_test.cc DEPS ${model_deps})
bandana_test(NAME seen_arms_test SRCS unit/seen_arms_test.cc DEPS ${model_deps})
bandana_test(NAME seen_served_test SRCS unit/seen_served_test.cc DEPS ${model_deps})
bandana_test(NAME catalogue_test SRCS unit/catalogue_test.cc DEPS ${model_deps})
bandana_test(NAME recovery_test SRCS unit/recovery_test.cc DEPS ${model_deps})
bandana_test(NAME model_parts_test SRCS unit/model_parts_test.cc DEPS ${model_deps})
bandana_test(NAME entry_kinds_test SRCS unit/entry_kinds_test.cc DEPS ${model_deps})
bandana_test(NAME export_test SRCS unit/export_test.cc DEPS ${model_deps})
bandana_test(NAME model_registry_test SRCS unit/model_registry_test.cc DEPS ${model_deps})
bandana_test(NAME effects_made_test SRCS unit/effects_made_test.cc DEPS ${model_deps})
bandana_test(NAME alias_rules_test SRCS unit/alias_rules_test.cc DEPS ${model_deps})
bandana_test(NAME user_table_test SRCS unit/user_table_test.cc DEPS ${model_deps})
bandana_test(NAME arms_tsv_test SRCS unit/arms_tsv_test.cc DEPS bandana::design bandana::test_support)
bandana_test(NAME counter_model_test SRCS unit/counter_model_test.cc DEPS ${model_deps} bandana::counters bandana::design)
bandana_test(NAME context_model_test SRCS unit/context_model_test.cc DEPS ${model_deps} bandana::bandits bandana::design)
bandana_test(NAME central_model_test SRCS unit/central_model_test.cc DEPS ${model_deps} bandana::counters bandana::random)
bandana_test(NAME shaped_model_test SRCS unit/shaped_model_test.cc DEPS ${model_deps} bandana::counters bandana::planner bandana::random)
bandana_test(NAME joint_served_test SRCS unit/joint_served_test.cc DEPS ${model_deps} bandana::joint_counter bandana::random)
bandana_test(NAME noise_binding_test SRCS unit/noise_binding_test.cc DEPS ${model_deps} bandana::random)
bandana_test(NAME sparse_served_test SRCS unit/sparse_served_test.cc DEPS ${model_deps} bandana::sparse_bandits bandana::random)
add_test(NAME sparse_types_test COMMAND Python3::Interpreter
  ${PROJECT_SOURCE_DIR}/tests/compile_fail/sparse_types_test.py ${CMAKE_CXX_COMPILER}
  ${PROJECT_SOURCE_DIR})
set_tests_properties(sparse_types_test PROPERTIES LABELS "unit;compile" TIMEOUT 300)
bandana_test(NAME counter_kill_test SRCS fault/counter_kill_test.cc DEPS ${model_deps} bandana::counters bandana::design
  LABELS fault TIMEOUT 300)
bandana_test(NAME central_kill_test SRCS fault/central_kill_test.cc DEPS ${model_deps} bandana::counters LABELS fault TIMEOUT 300)
bandana_test(NAME raw_reward_test SRCS fault/raw_reward_test.cc DEPS ${model_deps} LABELS fault)
bandana_test(NAME checkpoint_delta_test SRCS unit/checkpoint_delta_test.cc DEPS bandana::server_models bandana::test_support)
bandana_test(NAME checkpoint_store_test SRCS unit/checkpoint_store_test.cc DEPS bandana::server_models bandana::test_support)
bandana_test(NAME checkpoint_seal_test SRCS unit/checkpoint_seal_test.cc DEPS ${model_deps})
bandana_test(NAME trim_delay_test SRCS unit/trim_delay_test.cc DEPS ${model_deps})
bandana_test(NAME checkpoint_pace_test SRCS unit/checkpoint_pace_test.cc DEPS ${model_deps})
bandana_test(NAME served_config_test SRCS unit/served_config_test.cc DEPS bandana::server_models bandana::test_support)
