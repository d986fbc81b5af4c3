# The small tables: one suite for both engines, and what is an engine's own.
set(meta_cases meta_place.c meta_cases.c meta_people.c meta_sessions.c meta_lists.c meta_fleet.c meta_rollups.c meta_alerts.c meta_tenants.c
               meta_migrations.c meta_hard.c)
gpufl_test(meta_statements DEPS meta)
gpufl_test(meta_sqlite SOURCES ${meta_cases} DEPS meta)
if(LIBPQ_FOUND)
  gpufl_test(meta_postgres SOURCES ${meta_cases} postgres_server.c child_server.c DEPS meta TIMEOUT 300)
  set_tests_properties(store.meta_postgres PROPERTIES SKIP_RETURN_CODE 77)
endif()
