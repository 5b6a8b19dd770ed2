# The checker, on programs of the IR built by hand.
coll_unit_test(check_test
  SOURCES check_order.cpp check_flag.cpp check_lines.cpp check_sentinel.cpp check_scalars.cpp check_result.cpp check_progress.cpp
          check_report.cpp check_chunks.cpp check_counts.cpp check_window.cpp check_counter.cpp check_spin.cpp check_credits.cpp
  LIBS coll_compiler)
target_include_directories(check_test PRIVATE ${PROJECT_SOURCE_DIR}/compiler)
target_include_directories(check_test SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS})
