# The small tables: SQLite always, PostgreSQL where libpq is there.
gpufl_module(meta
  SOURCES
    meta.c
    meta_alerts.c
    meta_analysis.c
    meta_fleet.c
    meta_migrate.c
    meta_operations.c
    meta_people.c
    meta_read.c
    meta_row.c
    meta_secrets.c
    meta_session_list.c
    meta_sessions.c
    meta_sql.c
    sqlite/meta_sqlite.c
  DEPS base PkgConfig::SQLITE3 Threads::Threads)
if(LIBPQ_FOUND)
  target_sources(gpufl-meta PRIVATE postgres/meta_postgres.c)
  target_link_libraries(gpufl-meta PUBLIC PkgConfig::LIBPQ)
  target_compile_definitions(gpufl-meta PUBLIC GPUFL_POSTGRES=1)
else()
  message(STATUS "PostgreSQL: left out of gpufl-server, no libpq")
  target_compile_definitions(gpufl-meta PUBLIC GPUFL_POSTGRES=0)
endif()
