# The small tables: one suite for both engines, and the tests of each engine.
add_library(meta-cases STATIC meta_place.c meta_cases.c meta_people.c meta_sessions.c meta_lists.c meta_fleet.c meta_fleet_sums.c meta_rollups.c meta_alerts.c meta_tenants.c
               meta_migrations.c meta_hard.c meta_quotas.c meta_states.c)
target_link_libraries(meta-cases PUBLIC gpufl-meta PkgConfig::CMOCKA)
gpufl_test_code(meta-cases)
gpufl_test(meta_statements DEPS meta)
gpufl_test(meta_sqlite DEPS meta-cases)
if(LIBPQ_FOUND)
  gpufl_test(meta_postgres DEPS meta-cases store-support TIMEOUT 900)
  set_tests_properties(store.meta_postgres PROPERTIES SKIP_RETURN_CODE 77)
endif()
