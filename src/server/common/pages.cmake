# pages_table(OUT): the dashboard's files as an assembler file that includes them and the table of
# them that pages.h declares, made again when web/ changes. Where there is no npm, or the dashboard
# is switched off, the table is empty, and the server's page says so.
enable_language(ASM)
find_program(GPUFL_NPM npm)
option(GPUFL_DASHBOARD "Build the dashboard into gpufl-server (needs npm)" ON)
if(GPUFL_DASHBOARD AND NOT GPUFL_NPM)
  message(STATUS "Dashboard: no npm, so that gpufl-server will carry none")
endif()

function(pages_table out)
  set(write ${PROJECT_SOURCE_DIR}/src/server/common/pages_write.cmake)
  if(NOT GPUFL_DASHBOARD OR NOT GPUFL_NPM)
    add_custom_command(OUTPUT ${out} COMMAND ${CMAKE_COMMAND} -D OUT=${out} -P ${write}
                       DEPENDS ${write} COMMENT "No dashboard" VERBATIM)
    return()
  endif()
  set(web ${PROJECT_SOURCE_DIR}/web)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${web}/src/* ${web}/public/*)
  list(APPEND sources ${web}/index.html ${web}/package-lock.json ${web}/vite.config.ts ${web}/tsconfig.json
       ${web}/scripts/types.mjs ${web}/scripts/pack.mjs)
  foreach(table docs/openapi.json include/gpufl/gpufl.h schema/engines.def schema/local_options.def schema/options.def
                src/analyze/insight/insight.def src/server/auth/rights.def) # types.mjs reads these
    list(APPEND sources ${PROJECT_SOURCE_DIR}/${table})
  endforeach()
  set(folder ${PROJECT_BINARY_DIR}/web)
  add_custom_command(
    OUTPUT ${out}
    COMMAND ${PROJECT_SOURCE_DIR}/scripts/web ${folder}
    COMMAND ${CMAKE_COMMAND} -D FOLDER=${folder} -D OUT=${out} -P ${write}
    DEPENDS ${sources} ${write} ${PROJECT_SOURCE_DIR}/scripts/web
    COMMENT "Dashboard" VERBATIM)
endfunction()
