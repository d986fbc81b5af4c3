# The server's tables and the code that reads them.
foreach(name alerts capture_options columns history_rows openapi origin param proxies quota ready route)
  gpufl_test(${name} DEPS server-parts)
endforeach()

if(TARGET test-unit-server-capture_options)
  target_link_libraries(test-unit-server-capture_options PRIVATE gpufl-capture)
endif()

# Callers and their rights.
foreach(name auth auth_limit auth_password auth_secret rights)
  gpufl_test(${name} DEPS auth)
endforeach()

# From a sender's bodies to committed columns, and from columns to the report.
gpufl_test(journal DEPS intake)
gpufl_test(journal_damage DEPS intake)
if(TARGET gpufl-intake)
  # The test delays the disk.
  target_link_options(test-unit-server-journal PRIVATE -Wl,--wrap=fdatasync)
  # These tests let the disk fail.
  gpufl_test(session_frames DEPS intake)
  foreach(name journal_damage session_frames)
    target_link_options(test-unit-server-${name} PRIVATE -Wl,--wrap=pread)
  endforeach()
  foreach(name states registry ingest ingest_damage loader loader_alone loader_failures loader_queue loader_together)
    gpufl_test(${name} DEPS intake)
  endforeach()
  # The test counts what is written in one transaction.
  target_link_options(test-unit-server-loader_together PRIVATE -Wl,--wrap=meta_together -Wl,--wrap=meta_session_put)
  gpufl_test(janitor DEPS server-parts intake)
  gpufl_test(columns_report DEPS server-analysis PkgConfig::JANSSON)
  gpufl_test(analysis DEPS server-analysis PkgConfig::JANSSON)
  gpufl_test(analysis_late DEPS server-analysis)
  gpufl_test(outcome DEPS server-analysis PkgConfig::JANSSON)
  gpufl_test(burst DEPS server-analysis)
  gpufl_test(ended DEPS server-analysis)
  gpufl_test(gzip_doc DEPS server-analysis PkgConfig::JANSSON ZLIB::ZLIB)
  add_dependencies(test-unit-server-columns_report gpufl-main)
endif()

# Messages of Kafka.
gpufl_test(kafka DEPS server-kafka)
