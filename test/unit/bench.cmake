# What of `coll bench` needs no GPU: statistics, limits, chains, the reference, outputs, the text of its kernels.
coll_unit_test(bench_test SOURCES bench_numbers_test.cpp bench_output_test.cpp bench_tune_test.cpp bench_trace_test.cpp LIBS coll_runtime)
target_include_directories(bench_test PRIVATE ${PROJECT_SOURCE_DIR}/runtime)
target_include_directories(bench_test SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS})
target_link_libraries(bench_test PRIVATE LLVMSupport)
target_compile_definitions(bench_test PRIVATE COLL_TEST_INPUTS="${CMAKE_CURRENT_SOURCE_DIR}/unit/Inputs"
  COLL_RIVALS="${CMAKE_CURRENT_SOURCE_DIR}/perf/rivals")
