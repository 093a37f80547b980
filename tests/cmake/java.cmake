# The jar against a real server, where a JDK is.
if(TARGET bandana_jar AND NOT BANDANA_SANITIZE)
  add_custom_target(bandana_jar_of_tests ALL DEPENDS bandana_jar)
  add_test(NAME java_client_test COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/integration/java_client_test.py
    $<TARGET_FILE:bandana-server> ${PROJECT_BINARY_DIR}/java/bandana.jar ${PROJECT_SOURCE_DIR})
  set_tests_properties(java_client_test PROPERTIES LABELS integration TIMEOUT 180 SKIP_RETURN_CODE 77)
endif()
