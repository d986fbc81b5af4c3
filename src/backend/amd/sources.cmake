# The AMD backend's files, appended to those of the module.
list(APPEND sources
  amd/amd.c
  amd/devices.c
  amd/probe.c
  amd/trace.c
  amd/device/amdsmi.c
  amd/device/metrics.c
  amd/device/rocm.c
  amd/library/amd_smi.c
  amd/library/driver.c
  amd/library/library.c
  amd/library/rocm_smi.c)
