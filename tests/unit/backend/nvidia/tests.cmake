# NVIDIA's backend, over libraries that a test simulates.
foreach(name detach device_lock device_watch devices driver_gate earlier_calls graphs launches local_memory metric_sets nvml
        own_kernels pc_tally pm_device records sass_gate sass_tally search waits)
  gpufl_test(${name} DEPS backend)
endforeach()
add_dependencies(test-unit-backend-nvidia-local_memory fake-cuda)
