# Unit tests in which the library's code runs on several threads, by module. ThreadSanitizer reports races,
# and a race needs two threads, so its build has only these tests. In the other builds a unit test that is not
# listed here may have only one thread: support/one_thread.c aborts it if it starts another one.
set(GPUFL_THREADED
  agent/http_client
  analyze/model/load analyze/read/feed
  backend/common/buffers backend/nvidia/detach backend/nvidia/driver_gate backend/nvidia/earlier_calls backend/nvidia/graphs backend/nvidia/local_memory
  backend/amd/session backend/nvidia/nvml backend/nvidia/own_kernels backend/nvidia/sass_gate backend/toy_vendor
  base/fd_thread base/intern base/log base/queue base/ring base/thread base/tick
  capture/cancel capture/captures capture/compressor capture/copies capture/ends capture/looks capture/marks capture/sampling capture/scopes capture/session
  capture/sink capture/turns capture/writer capture/writer_limits
  cli/monitor_source
  monitor/host_name monitor/sampler monitord/events monitord/live
  net/http net/http_header net/http_limits net/http_stream net/http_work net/kafka net/metrics_page net/workers
  server/analysis server/analysis_late server/auth_password server/burst server/columns_report server/ingest server/ingest_damage server/janitor server/journal
  server/journal_damage server/loader server/loader_alone server/loader_failures server/loader_together server/outcome
  stack/blocked stack/dynsym stack/modules stack/python_fake stack/stack stack/unwind
  symbol/symbolize)
