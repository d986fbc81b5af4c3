# The parts of the command line that can be tested without a process.
foreach(name info_engines info_summary monitor_canvas monitor_screen monitor_source trace_compress trace_exits trace_options trace_place trace_seen trace_session trace_settings trace_why trace_words)
  gpufl_test(${name} DEPS cli)
endforeach()
