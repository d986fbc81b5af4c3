# From what a sender says to committed columns, and from columns to the report.
gpufl_test(tiles DEPS analyze)
gpufl_test(journal DEPS intake)
if(TARGET gpufl-intake)
  # The test holds the disk up.
  target_link_options(test-unit-journal PRIVATE -Wl,--wrap=fdatasync,--wrap=pread)
  # The test lets the disk fail.
  gpufl_test(kept DEPS intake)
  target_link_options(test-unit-kept PRIVATE -Wl,--wrap=pread)
  foreach(name ingest loader)
    gpufl_test(${name} SOURCES intake_fixture.c DEPS intake)
  endforeach()
  gpufl_test(janitor SOURCES intake_fixture.c DEPS server intake)
  gpufl_test(columns_report SOURCES intake_fixture.c DEPS intake PkgConfig::JANSSON)
  gpufl_test(analysis SOURCES intake_fixture.c DEPS intake PkgConfig::JANSSON)
  add_dependencies(test-unit-columns_report gpufl-main)
endif()
