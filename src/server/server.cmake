# `gpufl-server`: HTTP over the parts. All but main.c is a library, so that unit tests reach it.
set(pages ${CMAKE_CURRENT_BINARY_DIR}/pages_table.S)
include(common/pages.cmake)
pages_table(${pages})
gpufl_module(server-parts
  SOURCES
    api/access.c
    watch/alerts.c
    watch/watch.c
    api/alerts.c
    api/auth.c
    api/bookmarks.c
    api/compare.c
    api/export.c
    api/fleet.c
    api/history.c
    api/info.c
    api/ingest.c
    api/people.c
    api/query.c
    api/quota.c
    api/quota_store.c
    api/ready.c
    api/series.c
    api/report.c
    api/sessions.c
    api/sql.c
    api/sql_tables.c
    api/trace.c
    api/app.c
    api/call.c
    common/columns.c
    api/counters.c
    data_lock.c
    backup/file_tree.c
    offline.c
    api/history_rows.c
    api/ids_list.c
    watch/webhooks.c
    watch/janitor.c
    api/local.c
    common/logs.c
    api/openapi.c
    options.c
    common/origin.c
    common/proxies.c
    common/gzip_doc.c
    common/pages.c
    api/param.c
    api/route.c
    api/rows.c
    server.c
    common/sql_gate.c
    api/session_ref.c
    write_lease.c
    backup/backup.c
    ${pages}
  DEPS auth net-client intake server-analysis analyze symbol store meta net-server wire base PkgConfig::JANSSON)

add_executable(gpufl-server-main main.c)
set_target_properties(gpufl-server-main PROPERTIES OUTPUT_NAME gpufl-server)
target_link_libraries(gpufl-server-main PRIVATE gpufl-server-parts)
add_custom_target(gpufl-server DEPENDS gpufl-server-main) # by the program's name

install(TARGETS gpufl-server-main RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
