"""The keywords of gpufl.init, for type checkers. Generated from schema/options.def by test_stubs.py with
GPUFL_WRITE_DOCS=1; the same test fails where this file differs."""
from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from gpufl._api import BackendKind, ProfilingEngine


class Options(TypedDict, total=False):
    app_name: str | None
    log_path: str | PathLike[str] | None
    backend_url: str | None
    api_key: str | None
    api_path: str | None
    remote_upload: bool | None
    enable_stack_trace: bool | None
    enable_source_collection: bool | None
    enable_external_correlation: bool | None
    enable_synchronization: bool | None
    enable_memory_tracking: bool | None
    enable_cuda_graphs_tracking: bool | None
    system_sample_rate_ms: int | None
    kernel_sample_rate_ms: int | None
    continuous_system_sampling: bool | None
    backend: BackendKind | None
    profiling_engine: ProfilingEngine | None
    config_file: str | PathLike[str] | None
    flush_logs_always: bool | None
    enable_debug_output: bool | None
    enabled: bool | None
    share_system_samples: str | None
    remote_config_name: str | None
    remote_config_dir: str | None
    remote_control: bool | None
    log_format: str | None
    log_rotate_bytes: int | None
    log_max_spool_bytes: int | None
    log_min_free_bytes: int | None
    log_compress: bool | None
    flush_interval_ms: int | None
    flush_first_ms: int | None
    activity_buffer_bytes: int | None
    activity_pool_bytes: int | None
    pc_kernel_collect: str | None
    pc_sampling_period: int | None
    pc_hardware_buffer_bytes: int | None
    pc_window_every_ms: int | None
    pc_window_for_ms: int | None
    deep_sample_ms: int | None
    counter_metrics: str | None
    range_mode: str | None
    range_kernel_launches: int | None
    pm_sampling_interval_us: int | None
    pm_hardware_buffer_bytes: int | None
    cuda_graph_activity: str | None
    peer_copies: bool | None
    managed_memory: bool | None
    duration_ms: int | None
    nvtx_ranges: bool | None
    windows: bool | None
    window_after_ms: int | None
    window_for_ms: int | None
    window_every_ms: int | None
    window_rest_ms: int | None
    window_detach: bool | None
    window_scope: str | None
    window_after_launches: int | None
    window_launches: int | None
    yield_cupti: bool | None
    keep_cupti: bool | None
    host_samples_hz: int | None
    launch_stacks: bool | None
    idle_stacks: bool | None
    bench_floor: bool | None
    run_id: str | None
    # pass is a keyword of Python: write **{"pass": ...}
    passes: int | None
    sampling_auto_start: bool | None  # old name of continuous_system_sampling
