# The AMD backend's files, appended to those of the module, and its facts.
list(APPEND facts amd/find.c amd/vendor.c amd/words.c)
list(APPEND sources
  amd/amd.c
  amd/devices.c
  amd/engine_texts.c
  amd/probe.c
  amd/device/amdsmi.c
  amd/device/metrics.c
  amd/device/rocm.c
  amd/library/amd_smi.c
  amd/library/driver.c
  amd/library/library.c
  amd/library/rocm_smi.c
  amd/occupancy.c
  amd/trace/agents.c
  amd/trace/calls.c
  amd/trace/counter_choice.c
  amd/trace/counter_offers.c
  amd/trace/counter_sets.c
  amd/trace/counting.c
  amd/trace/delivery.c
  amd/trace/elf_functions.c
  amd/trace/hip_graphs.c
  amd/trace/markers.c
  amd/trace/objects.c
  amd/trace/records.c
  amd/trace/sampling.c
  amd/trace/sampling_choice.c
  amd/trace/sdk.c
  amd/trace/symbols.c
  amd/trace/tool.c
  amd/trace/trace.c)
