# The planted defects, which lie in test/mutation: each against the checker and on the emulator.
coll_unit_test(mutation_test
  SOURCES ../mutation/mutation_test.cpp ../mutation/Mutants.cpp ../mutation/epoch_test.cpp ../mutation/workspace_test.cpp
          ../mutation/counted_test.cpp ../mutation/flight_test.cpp
          ../../compiler/tool/Adversary.cpp
  LIBS coll_runtime)
target_include_directories(mutation_test PRIVATE ${PROJECT_SOURCE_DIR}/compiler ${PROJECT_SOURCE_DIR}/runtime)
target_include_directories(mutation_test SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS})
target_include_directories(mutation_test PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/jit)
target_compile_definitions(mutation_test PRIVATE COLL_TEST_EPOCHS="${CMAKE_CURRENT_SOURCE_DIR}/emu/epochs.coll")
