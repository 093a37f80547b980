# `cmake --install build/release` installs the programs (component programs) and the SDK (component sdk): public headers,
# static libraries and a CMake package, used as find_package(bandana) and bandana::client.
include(CMakePackageConfigHelpers)
set(sdk_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/bandana)

# No learner, and nothing that needs Eigen, OpenBLAS or LAPACKE: tests/consumer checks it.
install(TARGETS bandana_base bandana_accounting bandana_kernels bandana_random bandana_sqlite bandana_mechanisms bandana_counters
        bandana_ranking bandana_features bandana_promise bandana_channel bandana_proto bandana_device_core bandana_client
  EXPORT bandana-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT sdk)
install(DIRECTORY client/include/bandana DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT sdk FILES_MATCHING PATTERN "*.h")
install(DIRECTORY proto/bandana DESTINATION ${CMAKE_INSTALL_DATADIR}/bandana/proto COMPONENT sdk
  FILES_MATCHING PATTERN "*.proto")
install(EXPORT bandana-targets NAMESPACE bandana:: DESTINATION ${sdk_package_dir} COMPONENT sdk)
configure_package_config_file(cmake/bandana-config.cmake.in ${PROJECT_BINARY_DIR}/bandana-config.cmake
  INSTALL_DESTINATION ${sdk_package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/bandana-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/bandana-config.cmake ${PROJECT_BINARY_DIR}/bandana-config-version.cmake
  DESTINATION ${sdk_package_dir} COMPONENT sdk)
