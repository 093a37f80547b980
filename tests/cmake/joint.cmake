# Tests of joint privacy and of the environment it is measured in; see bandana_test in
# cmake/bandana.cmake.
bandana_test(NAME sphere_rounds_test SRCS unit/sphere_rounds_test.cc
  DEPS bandana::rounds bandana::test_support)
bandana_test(NAME compact_linucb_property_test SRCS property/compact_linucb_property_test.cc
  DEPS bandana::bandits bandana::compact_linucb LABELS property)
bandana_test(NAME joint_model_property_test SRCS property/joint_model_property_test.cc
  DEPS bandana::joint_bandits bandana::test_support Eigen3::Eigen LABELS property)
bandana_test(NAME lab_joint_test SRCS unit/lab_joint_test.cc
  DEPS bandana::lab_neurips18 bandana::test_support)
