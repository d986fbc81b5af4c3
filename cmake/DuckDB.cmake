# DuckDB's library, which the server opens at run time: build/lib gets a link to it, where programs of
# this build find it. Without the library everything builds, and the parts that need it say so.
execute_process(COMMAND ${PROJECT_SOURCE_DIR}/scripts/duckdb
                OUTPUT_VARIABLE GPUFL_DUCKDB_LIBRARY OUTPUT_STRIP_TRAILING_WHITESPACE
                ERROR_VARIABLE error ERROR_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed)
if(failed)
  message(WARNING "DuckDB: ${error}\nThe server will refuse to start, and its tests will be skipped.")
else()
  message(STATUS "DuckDB: ${GPUFL_DUCKDB_LIBRARY}")
  file(MAKE_DIRECTORY ${CMAKE_LIBRARY_OUTPUT_DIRECTORY})
  file(CREATE_LINK ${GPUFL_DUCKDB_LIBRARY} ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/libduckdb.so SYMBOLIC)
endif()
