# The device in every language: the steps of random schedules, over each host's own store, and the hook calls compared.
bandana_executable(NAME make_schedules NO_INSTALL SRCS conformance/make_schedules.cc conformance/schedule_host.cc
  DEPS bandana::shared bandana::fake_recommender bandana::design bandana::test_support)
set(conformance_hosts ${PROJECT_BINARY_DIR}/python)
if(TARGET bandana_jni_scripted)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/scripted)
  file(CREATE_LINK ${PROJECT_BINARY_DIR}/lib/libbandana.so.0 ${PROJECT_BINARY_DIR}/scripted/libbandana.so.0 SYMBOLIC)
  add_custom_target(bandana_scripted_of_tests ALL DEPENDS bandana_jni_scripted)
  list(APPEND conformance_hosts --java ${PROJECT_BINARY_DIR}/java/bandana.jar ${PROJECT_BINARY_DIR}/scripted)
endif()
if(NOT BANDANA_SANITIZE)
  foreach(size 40 1000)
    add_test(NAME conformance_${size}_test COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/conformance/conformance_test.py
      $<TARGET_FILE:make_schedules> ${size} 1 ${conformance_hosts})
    set_tests_properties(conformance_${size}_test PROPERTIES LABELS golden TIMEOUT 600)
  endforeach()
  set_tests_properties(conformance_1000_test PROPERTIES LABELS "golden;slow")
endif()
