# Selection, without a GPU.
coll_unit_test(selection_test SOURCES selection_test.cpp LIBS coll_runtime)
target_include_directories(selection_test PRIVATE ${PROJECT_SOURCE_DIR}/runtime)
