list(APPEND sources
  sim/activity.c
  sim/config.c
  sim/counters.c
  sim/devices.c
  sim/drain.c
  sim/generator.c
  sim/kernels.c
  sim/machine.c
  sim/ops.c
  sim/profile.c
  sim/sim.c
  sim/tally.c
  sim/trace.c
  sim/workload.c)
