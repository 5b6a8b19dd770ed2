coll_unit_test(compiler_test SOURCES compiler_test.cpp LIBS coll_compiler)
