# The runtime's GoogleTests, which lie beside the lit tests of the same parts: libraries, NVRTC and the kernel cache.
coll_unit_test(jit_test SOURCES ../jit/JitTest.cpp ../jit/LibrariesTest.cpp LIBS coll_runtime)
target_include_directories(jit_test PRIVATE ${PROJECT_SOURCE_DIR}/runtime)
target_compile_definitions(jit_test PRIVATE COLL_TEST_KERNELS="${CMAKE_CURRENT_SOURCE_DIR}/jit/kernels")
