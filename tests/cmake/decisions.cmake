# Tests of decision logs; see bandana_test in cmake/bandana.cmake.
bandana_test(NAME decisions_jsonl_test SRCS unit/decisions_jsonl_test.cc DEPS bandana::decisions)
bandana_test(NAME check_decision_test SRCS unit/check_decision_test.cc DEPS bandana::decisions)
