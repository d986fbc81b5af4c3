# `gpufl-server`: HTTP over the parts. All but main.c is a library, so that unit tests reach it.
set(pages ${CMAKE_CURRENT_BINARY_DIR}/pages_table.S)
include(common/pages.cmake)
pages_table(${pages})
# A handler is found by the linker: schema/routes.def names it.
file(GLOB handlers CONFIGURE_DEPENDS api/*.c)
gpufl_module(server-parts
  SOURCES
    ${handlers}
    watch/alerts.c
    watch/watch.c
    common/capture_options.c
    common/columns.c
    data_lock.c
    backup/file_tree.c
    from_kafka.c
    offline.c
    watch/webhooks.c
    watch/janitor.c
    common/logs.c
    options.c
    common/origin.c
    local.c
    request/access.c
    request/app.c
    request/call.c
    request/counters.c
    request/ids_list.c
    request/openapi.c
    request/param.c
    request/route.c
    request/rows.c
    request/session_ref.c
    common/proxies.c
    common/pages.c
    server.c
    common/sql_gate.c
    write_lease.c
    backup/backup.c
    ${pages}
  DEPS auth net-client intake server-kafka server-analysis analyze symbol store meta net-server wire base PkgConfig::JANSSON)

add_executable(gpufl-server-main main.c)
gpufl_fixed_address(gpufl-server-main)
set_target_properties(gpufl-server-main PROPERTIES OUTPUT_NAME gpufl-server)
target_link_libraries(gpufl-server-main PRIVATE gpufl-server-parts)
add_custom_target(gpufl-server DEPENDS gpufl-server-main) # by the program's name

install(TARGETS gpufl-server-main RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
