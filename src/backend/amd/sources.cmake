# The AMD backend's files, appended to those of the module.
list(APPEND sources
  amd/amd.c
  amd/probe.c
  amd/trace.c)
