# The folders of `cmake --install`. An installed tree runs from any prefix, also after it was moved:
# programs and libraries find each other by the relative path from bindir to libdir.
include(GNUInstallDirs)
file(RELATIVE_PATH GPUFL_LIB_FROM_BIN ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
set(CMAKE_INSTALL_RPATH "$ORIGIN/${GPUFL_LIB_FROM_BIN}")

# gpufl_install_paths(FILE...): sources that search for our libraries, or for others next to ours.
function(gpufl_install_paths)
  set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_DEFINITIONS
    GPUFL_LIB_FROM_BIN="${GPUFL_LIB_FROM_BIN}" GPUFL_INSTALL_LIBDIR="${CMAKE_INSTALL_FULL_LIBDIR}")
endfunction()

# Programs that are built with the library find it by pkg-config and find_package(gpufl).
function(gpufl_install_packages)
  include(CMakePackageConfigHelpers)
  set(to ${CMAKE_INSTALL_LIBDIR}/cmake/gpufl)
  file(RELATIVE_PATH GPUFL_PC_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
  string(REGEX REPLACE "/$" "" GPUFL_PC_PREFIX "${GPUFL_PC_PREFIX}")
  configure_file(${PROJECT_SOURCE_DIR}/cmake/gpufl.pc.in ${PROJECT_BINARY_DIR}/gpufl.pc @ONLY)
  configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/gpuflConfig.cmake.in
    ${PROJECT_BINARY_DIR}/gpuflConfig.cmake INSTALL_DESTINATION ${to})
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/gpuflConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/gpufl.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  install(FILES ${PROJECT_BINARY_DIR}/gpuflConfig.cmake ${PROJECT_BINARY_DIR}/gpuflConfigVersion.cmake DESTINATION ${to})
  install(EXPORT gpuflTargets NAMESPACE gpufl:: DESTINATION ${to})
endfunction()

# Installs DuckDB's library next to ours, with its licence, unless it is the system's. GPUFL_DUCKDB_LIBRARY: DuckDB.cmake.
function(gpufl_install_duckdb)
  option(GPUFL_INSTALL_DUCKDB "Install DuckDB's library, which gpufl-server opens" ON)
  if(NOT GPUFL_INSTALL_DUCKDB OR NOT EXISTS "${GPUFL_DUCKDB_LIBRARY}")
    return()
  endif()
  get_filename_component(real ${GPUFL_DUCKDB_LIBRARY} REALPATH)
  get_filename_component(folder ${real} DIRECTORY)
  if("${folder}" MATCHES "^/(usr/)?lib(64)?(/|$)")
    return()
  endif()
  install(PROGRAMS ${real} DESTINATION ${CMAKE_INSTALL_LIBDIR} RENAME libduckdb.so)
  if(EXISTS ${folder}/LICENSE)
    install(FILES ${folder}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME LICENSE.duckdb)
  endif()
endfunction()
