# What deploy/ has, tested where its tools are installed: 77 means that something is missing. The cheap ones need no network and take a
# second or two; the slow ones install packages, build images or run the whole stack (./dev setup --full).
if(BANDANA_BUILD_TESTS AND NOT BANDANA_SANITIZE)
  function(bandana_deploy_test NAME SCRIPT)
    add_test(NAME ${NAME} COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/deploy/${SCRIPT} ${PROJECT_SOURCE_DIR} ${ARGN})
    set_tests_properties(${NAME} PROPERTIES LABELS deploy TIMEOUT 60 SKIP_RETURN_CODE 77)
  endfunction()
  bandana_deploy_test(compose_test compose_test.py $<TARGET_FILE:bandana-server>)
  bandana_deploy_test(kubernetes_test kubernetes_test.py $<TARGET_FILE:bandana-server>)
  bandana_deploy_test(kubernetes_schema_test kubernetes_test.py --schemas ${CMAKE_CURRENT_BINARY_DIR}/kubernetes)
  bandana_deploy_test(stack_test stack_test.py $<TARGET_FILE:bandana-server> $<TARGET_FILE:bandana-fleet> $<TARGET_FILE:bandana-ctl>)
  set_tests_properties(kubernetes_schema_test stack_test PROPERTIES LABELS "deploy;slow" TIMEOUT 600)
endif()
