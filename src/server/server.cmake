# `gpufl-server`: HTTP over the parts. All but main.c is a library, so that unit tests reach it.
set(pages ${CMAKE_CURRENT_BINARY_DIR}/pages_table.S)
include(pages.cmake)
pages_table(${pages})
gpufl_module(server
  SOURCES
    access.c
    alerts.c
    alerts_watch.c
    api_alerts.c
    api_auth.c
    api_compare.c
    api_export.c
    api_fleet.c
    api_history.c
    api_info.c
    api_ingest.c
    api_people.c
    api_query.c
    api_series.c
    api_report.c
    api_sessions.c
    api_sql.c
    api_trace.c
    app.c
    call.c
    columns.c
    counters.c
    data_lock.c
    history_rows.c
    ids_list.c
    hooks.c
    janitor.c
    local.c
    logs.c
    openapi.c
    options.c
    origin.c
    packed.c
    pages.c
    param.c
    route.c
    rows.c
    server.c
    sql_gate.c
    subject.c
    turns.c
    upkeep.c
    ${pages}
  DEPS auth client intake analyze symbol store meta net wire base PkgConfig::JANSSON)

add_executable(gpufl-server-main main.c)
set_target_properties(gpufl-server-main PROPERTIES OUTPUT_NAME gpufl-server)
target_link_libraries(gpufl-server-main PRIVATE gpufl-server)

install(TARGETS gpufl-server-main RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
