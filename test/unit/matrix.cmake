# Every instance of the standard library on the emulator; all ranks and types with COLL_TEST_FULL=1, which takes hours.
coll_unit_test(matrix_test SOURCES ../emu/MatrixTest.cpp ../emu/OrderClass.cpp ../../compiler/tool/Adversary.cpp LIBS coll_runtime)
target_include_directories(matrix_test PRIVATE ${PROJECT_SOURCE_DIR}/compiler ${PROJECT_SOURCE_DIR}/runtime)
target_include_directories(matrix_test SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS})
set_tests_properties(matrix_test PROPERTIES TIMEOUT 7200)
