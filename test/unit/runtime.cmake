# The runtime's GoogleTests, which lie beside the lit tests of the same parts. All but gpu_test need no GPU; that one
# skips its tests without one.
coll_unit_test(jit_test SOURCES ../jit/JitTest.cpp ../jit/LibrariesTest.cpp LIBS coll_runtime)
coll_unit_test(runner_test SOURCES ../gpu/LaunchTest.cpp ../gpu/ContextTest.cpp ../gpu/RunnerTest.cpp ../gpu/WindowTest.cpp ../gpu/CounterTest.cpp LIBS coll_runtime)
coll_unit_test(gpu_test SOURCES ../gpu/GpuTest.cpp ../gpu/EpochTest.cpp ../gpu/MixedTest.cpp ../gpu/WorkspaceTest.cpp ../gpu/MatrixTest.cpp ../gpu/ShapesTest.cpp ../gpu/ProcessTest.cpp
  ../emu/OrderClass.cpp LIBS coll_runtime)
foreach(test jit_test runner_test gpu_test)
  target_include_directories(${test} PRIVATE ${PROJECT_SOURCE_DIR}/runtime ${CMAKE_CURRENT_SOURCE_DIR}/jit ${CMAKE_CURRENT_SOURCE_DIR}/emu)
  target_compile_definitions(${test} PRIVATE COLL_TEST_KERNELS="${CMAKE_CURRENT_SOURCE_DIR}/jit/Inputs"
    COLL_TEST_EPOCHS="${CMAKE_CURRENT_SOURCE_DIR}/emu/epochs.coll")
endforeach()
target_include_directories(runner_test PRIVATE ${PROJECT_SOURCE_DIR}/runtime/device)
if(COLL_CUDA_INCLUDE)
  target_sources(runner_test PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/gpu/NcclFabricTest.cpp ${CMAKE_CURRENT_SOURCE_DIR}/gpu/StreamOrderTest.cpp)
  target_include_directories(runner_test SYSTEM PRIVATE ${COLL_CUDA_INCLUDE})
  target_sources(gpu_test PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/gpu/StreamTest.cpp ${CMAKE_CURRENT_SOURCE_DIR}/gpu/LargeTest.cpp)
  target_include_directories(gpu_test SYSTEM PRIVATE ${COLL_CUDA_INCLUDE})
endif()
if(COLL_CUDA_INCLUDE) # to compare with the vendors' headers what Coll declares itself
  target_include_directories(jit_test SYSTEM PRIVATE ${COLL_CUDA_INCLUDE})
endif()
