# The emulator's GoogleTests; their kernels are in test/emu/kernels.
coll_unit_test(emulator_test
  SOURCES emulator_memory_model_test.cpp emulator_epoch_test.cpp emulator_fault_test.cpp emulator_numbers_test.cpp
          emulator_counts_test.cpp emulator_race_test.cpp emulator_rows_test.cpp emulator_multicast_test.cpp emulator_flight_test.cpp
          emulator_fixture.cpp
  LIBS coll_emulator)
target_compile_definitions(emulator_test PRIVATE COLL_TEST_KERNELS="${PROJECT_SOURCE_DIR}/test/emu/kernels")
