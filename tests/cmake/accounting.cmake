bandana_test(NAME accounting_test SRCS unit/accounting_test.cc DEPS bandana::accounting bandana::test_support)
