# Tests of tools; see bandana_test in cmake/bandana.cmake.
bandana_test(NAME environments_test SRCS unit/environments_test.cc DEPS bandana::environments bandana::test_support)
bandana_test(NAME hetrec_environment_test SRCS unit/hetrec_environment_test.cc
  DEPS bandana::environments bandana::test_support)
bandana_test(NAME environments_property_test SRCS property/environments_property_test.cc DEPS bandana::environments
  LABELS property)
bandana_test(NAME fleet_figures_test SRCS unit/fleet_figures_test.cc DEPS bandana::fleet bandana::test_support)
bandana_test(NAME fleet_runner_test SRCS unit/fleet_runner_test.cc DEPS bandana::fleet)
bandana_test(NAME fleet_config_test SRCS unit/fleet_config_test.cc
  DEPS bandana::fleet_config bandana::wire bandana::proto bandana::test_support)

# bandana-import.
bandana_test(NAME import_files_test SRCS unit/import_files_test.cc
  DEPS bandana::import bandana::test_support lzma)
bandana_test(NAME import_features_test SRCS unit/import_features_test.cc DEPS bandana::import bandana::test_support)
bandana_test(NAME import_output_test SRCS unit/import_output_test.cc DEPS bandana::import bandana::test_support)
