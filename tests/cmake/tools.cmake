# Tests of tools; see bandana_test in cmake/bandana.cmake.
bandana_test(NAME environments_test SRCS unit/environments_test.cc DEPS bandana::environments bandana::test_support)
bandana_test(NAME hetrec_environment_test SRCS unit/hetrec_environment_test.cc
  DEPS bandana::environments bandana::test_support)
bandana_test(NAME environments_property_test SRCS property/environments_property_test.cc DEPS bandana::environments
  LABELS property)
bandana_test(NAME compact_svg_test SRCS unit/compact_svg_test.cc DEPS bandana::tools_base bandana::test_support)
bandana_test(NAME work_folder_test SRCS unit/work_folder_test.cc DEPS bandana::tools_base bandana::test_support)
bandana_test(NAME fleet_figures_test SRCS unit/fleet_figures_test.cc DEPS bandana::fleet bandana::test_support)
bandana_test(NAME fleet_runner_test SRCS unit/fleet_runner_test.cc DEPS bandana::fleet)
bandana_test(NAME fleet_config_test SRCS unit/fleet_config_test.cc
  DEPS bandana::fleet_config bandana::design bandana::proto bandana::test_support)

# bandana-import.
bandana_test(NAME import_files_test SRCS unit/import_files_test.cc
  DEPS bandana::import bandana::test_support lzma)
bandana_test(NAME import_features_test SRCS unit/import_features_test.cc DEPS bandana::import bandana::test_support)
bandana_test(NAME import_graph_test SRCS unit/import_graph_test.cc
  DEPS bandana::import bandana::test_support ZLIB::ZLIB)
bandana_test(NAME import_output_test SRCS unit/import_output_test.cc DEPS bandana::import bandana::test_support)
bandana_test(NAME import_logs_test SRCS unit/import_logs_test.cc DEPS bandana::import bandana::test_support)
bandana_test(NAME import_log_program_test SRCS integration/import_log_program_test.cc LABELS integration
  DEPS bandana::proto bandana::test_server bandana::test_support)
add_dependencies(import_log_program_test bandana-import)
bandana_library(NAME fleet_run SRCS support/fleet_run.cc
  PUBLIC_DEPS bandana::test_server bandana::test_support
  PRIVATE_DEPS bandana::ctl bandana::proto)
add_dependencies(bandana_fleet_run bandana-fleet)
bandana_test(NAME fleet_test SRCS integration/fleet_test.cc DEPS bandana::fleet_run LABELS integration TIMEOUT 300)
if(TARGET bandana_c_host)
  bandana_test(NAME fleet_device_test SRCS integration/fleet_device_test.cc DEPS bandana::fleet_run LABELS integration TIMEOUT 300)
endif()
bandana_test(NAME fleet_kill_test SRCS fault/fleet_kill_test.cc DEPS bandana::fleet_run LABELS fault TIMEOUT 300)
bandana_test(NAME import_program_test SRCS integration/import_program_test.cc LABELS integration
  DEPS bandana::environments bandana::import bandana::test_server bandana::test_support bandana::design)
add_dependencies(import_program_test bandana-import)
bandana_test(NAME hetrec_data_test SRCS integration/hetrec_data_test.cc LABELS integration
  DEPS bandana::import bandana::test_support)
bandana_test(NAME hetrec_reward_test SRCS integration/hetrec_reward_test.cc LABELS integration slow TIMEOUT 7200
  DEPS bandana::environments bandana::import bandana::test_server bandana::test_support bandana::design)
add_dependencies(hetrec_reward_test bandana-import)
bandana_test(NAME hetrec_effects_test SRCS integration/hetrec_effects_test.cc LABELS integration slow TIMEOUT 7200
  DEPS bandana::environments bandana::effects bandana::test_server bandana::test_support bandana::design)
add_dependencies(hetrec_effects_test bandana-import)

# bandana-lab and the planner.
bandana_test(NAME planner_test SRCS unit/planner_test.cc DEPS bandana::planner bandana::test_support)
bandana_test(NAME context_plan_test SRCS unit/context_plan_test.cc DEPS bandana::planner bandana::test_support)
bandana_test(NAME neurips20_contexts_test SRCS unit/neurips20_contexts_test.cc
  DEPS bandana::lab_neurips20 bandana::test_support Eigen3::Eigen)
bandana_test(NAME cap_law_stat_test SRCS statistical/cap_law_stat_test.cc
  DEPS bandana::lab_neurips20 bandana::test_support LABELS statistical)
bandana_test(NAME recsys22_test SRCS unit/recsys22_test.cc
  DEPS bandana::lab_recsys22 bandana::test_support Eigen3::Eigen)
bandana_test(NAME lab_test SRCS unit/lab_test.cc DEPS bandana::lab bandana::test_support)
bandana_test(NAME lab_devices_test SRCS unit/lab_devices_test.cc DEPS bandana::lab bandana::server_models bandana::test_support)
bandana_test(NAME neurips20_mab_test SRCS unit/neurips20_mab_test.cc DEPS bandana::lab bandana::test_support)
# 20 s by day; ten minutes, with a picture, by night. SOAK_SECONDS=1800 before a release.
bandana_test(NAME soak_test SRCS integration/soak_test.cc DEPS bandana::environments bandana::fleet_run
  LABELS integration slow TIMEOUT 2400 ENV SOAK_SECONDS=600 SOAK_SVG=${CMAKE_CURRENT_BINARY_DIR}/soak.svg)
if(BANDANA_BUILD_TESTS)
  set_target_properties(soak_test PROPERTIES EXCLUDE_FROM_ALL FALSE)  # for the next one, also under sanitizers
  add_test(NAME soak_smoke_test COMMAND soak_test)
  set_tests_properties(soak_smoke_test PROPERTIES LABELS integration TIMEOUT 300 ENVIRONMENT SOAK_SECONDS=20)
endif()
bandana_test(NAME playground_test SRCS integration/playground_test.cc LABELS integration TIMEOUT 300
  DEPS bandana::ctl bandana::environments bandana::test_server bandana::test_support)
add_dependencies(playground_test bandana-fleet)
