# The runtime's GoogleTests, which lie beside the lit tests of the same parts. None needs a GPU.
coll_unit_test(jit_test SOURCES ../jit/JitTest.cpp ../jit/LibrariesTest.cpp LIBS coll_runtime)
coll_unit_test(runner_test SOURCES ../gpu/LaunchTest.cpp ../gpu/RunnerTest.cpp LIBS coll_runtime)
foreach(test jit_test runner_test)
  target_include_directories(${test} PRIVATE ${PROJECT_SOURCE_DIR}/runtime ${CMAKE_CURRENT_SOURCE_DIR}/jit)
  target_compile_definitions(${test} PRIVATE COLL_TEST_KERNELS="${CMAKE_CURRENT_SOURCE_DIR}/jit/kernels")
endforeach()
target_include_directories(runner_test PRIVATE ${PROJECT_SOURCE_DIR}/runtime/device)
