# The sums of a session.
foreach(name host_time load nameless scope_samples step_places steps steps_once tiles sum_graphs sum_idle sum_ledger sum_memory
        sum_metrics sum_scopes wait_lines idle_activity idle_changed idle_lead idle_lines idle_near idle_operators idle_planted idle_plans
        idle_random idle_unknown)
  gpufl_test(${name} DEPS analyze)
endforeach()
