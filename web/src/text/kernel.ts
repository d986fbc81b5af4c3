// kernel.ts - texts of a kernel's page: occupancy, stalls, code.

/** What is called by the words of the GPU's vendor (docs/GLOSSARY.md). */
export interface Words {
  occupancyText: string;
  resources: Record<string, string>; // that limit occupancy
  registersText: string;
  spillsText: string;
  allows: string;
  occupancyUnknown: string;
  facts: (registers: string, shared: string, local: string) => string;
  spills: (bytes: string) => string;
  stalls: string;
  stallsNone: string;
  codeNone: string;
  columns: Record<"offset" | "sass" | "samples" | "reason" | "executed" | "threads" | "coalescing" | "conflicts", string>;
  /** A launch configuration: in the timeline, and as titles of columns. */
  launch: { block: string; registers: string; shared: string; local: string; occupancyOf: (part: string, waves: number, most: number) => string };
  configs: { block: string; shared: string };
  shape: (grid: string, block: string) => string;
  /** Workgroups, in what all parts of the GPU hold at once: a wave is a wavefront on AMD's GPUs. */
  waves: (waves: string) => string;
  /** Numbers that findings rest on, where they differ from text/evidence.ts. */
  evidence: Record<string, string>;
  /** Events of the timeline, where they differ from the server's names (src/wire/event_name.c). */
  events: Record<string, string>;
  /** Why a GPU's clocks are low, where it differs from text/fleet.ts. */
  reasons: Record<string, string>;
  /** Metrics of a GPU, where they differ from text/system.ts. */
  metrics: Record<string, string>;
  /** What a metric of a GPU means, where its name does not tell. */
  notes: Record<string, string>;
  /** Engine PcSampling of a capture that is asked for. */
  /** Ranges that programs mark by the vendor's library. */
  ranges: string;
  sampling: string;
  sampled: string;
  samplesOfScopes: string;
  counted: string;
}

const nvidia: Words = {
  occupancyText: "Theoretical: resident warps of an SM, of the slots it has.",
  resources: { warps: "warp slots", registers: "registers", shared_mem: "shared memory", blocks: "block slots" },
  registersText: "of a thread, the most of its launch configurations",
  spillsText: "Local memory of a thread: spilled registers or arrays that are indexed.",
  allows: "Blocks of an SM that each resource allows; the least decides",
  occupancyUnknown: "Not recorded: it takes the registers and shared memory of the launch, and the limits of the GPU.",
  facts: (registers, shared, local) => `${registers} registers a thread, ${shared} shared memory a block${local}`,
  spills: (bytes) => `, ${bytes} local memory a thread (spills or stack)`,
  stalls: "Why warps wait",
  stallsNone: "No samples of this kernel. Engines PcSampling and Deep take them.",
  codeNone: "No instructions of this kernel. Engines PcSampling, SassMetrics and Deep bring them.",
  columns: { offset: "Offset", sass: "SASS", samples: "Samples", reason: "Most of them", executed: "Executed", threads: "Threads of a warp", coalescing: "Needed of the traffic", conflicts: "Bank conflicts" },
  launch: { block: "Block", registers: "Registers a thread", shared: "Shared memory a block", local: "Local memory a thread", occupancyOf: (part, waves, most) => `${part} (${waves} of ${most} warps)` },
  configs: { block: "Block", shared: "Shared memory" },
  shape: (grid, block) => `grid ${grid}, block ${block}`,
  waves: (waves) => `${waves} waves`,
  evidence: {},
  events: {},
  reasons: {},
  metrics: {},
  notes: { gpu_util: "By NVML: the part of each sample's time in which any program had a kernel on the GPU. GPU busy is the time in which this session's work ran, so that it may be less." },
  ranges: "NVTX ranges (torch.cuda.nvtx.range_push in PyTorch)",
  sampling: "Where warps stall.",
  sampled: "Shares of the time in which multiprocessors had work, with their error at 95 %: also of kernels that are not recorded.",
  samplesOfScopes: "Why warps waited while each scope was open; samples of windows that several scopes share are in none.",
  counted: "Threads: the part of a warp's threads that work. Needed: the part of the sectors of global memory that is used. Conflicts: wavefronts of shared memory for each that is needed.",
};

const amd: Words = {
  occupancyText: "Theoretical: resident wavefronts of a compute unit, of the slots it has.",
  resources: { warps: "wavefront slots", registers: "registers", shared_mem: "LDS", blocks: "workgroup slots" },
  registersText: "of a work-item, the most of its launch configurations",
  spillsText: "Scratch memory of a work-item: spilled registers or arrays that are indexed.",
  allows: "Workgroups of a compute unit that each resource allows; the least decides",
  occupancyUnknown: "Not known: it takes the registers and LDS of the launch, and the limits of the GPU.",
  facts: (registers, shared, local) => `${registers} registers a work-item, ${shared} LDS a workgroup${local}`,
  spills: (bytes) => `, ${bytes} scratch memory a work-item (spills or stack)`,
  stalls: "Why wavefronts wait",
  stallsNone: "No samples of this kernel. Engine PcSampling takes them on GPUs that offer it, MI200 and newer.",
  codeNone: "No instructions of this kernel: its code was loaded before the session, or could not be taken apart.",
  columns: { ...nvidia.columns, sass: "ISA", threads: "Work-items of a wavefront" },
  launch: { block: "Workgroup", registers: "Registers a work-item", shared: "LDS a workgroup", local: "Scratch memory a work-item", occupancyOf: (part, waves, most) => `${part} (${waves} of ${most} wavefronts)` },
  configs: { block: "Workgroup", shared: "LDS" },
  shape: (grid, block) => `grid ${grid}, workgroup ${block}`,
  waves: (waves) => `${waves} rounds`,
  evidence: {
    warps: "Wavefronts that fit",
    max_warps: "Wavefronts at most",
    registers: "Registers a work-item",
    shared_static: "Static LDS, bytes",
    shared_dynamic: "Dynamic LDS, bytes",
    local_per_thread: "Scratch memory a work-item, bytes",
    stalled_samples: "Samples of waiting wavefronts",
    reason_not_issued: "Of these: no wavefront issued",
  },
  events: { "context synchronization": "device synchronization", "wait for context": "wait for device" },
  reasons: { hardware_slowdown: "another limit of the hardware", thermal_software: "too hot", thermal_hardware: "regulators or board too hot" },
  metrics: { clock_sm: "Shader clock" },
  notes: { gpu_util: "By AMD's driver: the part of each sample's time in which the GPU worked for any program. GPU busy is the time in which this session's work ran, so that it may be less." },
  ranges: "rocTX ranges (roctxRangePush)",
  sampling: "Where wavefronts stall.",
  sampled: "Shares of the time in which compute units had work, with their error at 95 %: also of kernels that are not recorded.",
  samplesOfScopes: "Why wavefronts waited while each scope was open; samples of windows that several scopes share are in none.",
  counted: "Work-items: the part of a wavefront's work-items that work. Needed: the part of the sectors of global memory that is used. Conflicts: accesses of LDS for each that is needed.",
};

/** vendor: of the session's GPUs; "": not known. */
export const wordsOf = (vendor: string): Words => (vendor === "amd" ? amd : nvidia);

export const kernel = {
  occupancy: "Occupancy",
  occupancyLeast: (configs: string) => `Theoretical; the least of its ${configs} launch configurations.`,
  /** By the names in occ_limiter (docs/format.md), which differ between the vendors. */
  limits: { ...nvidia.resources, wavefronts: "wavefront slots", vgprs: "vector registers", sgprs: "scalar registers", lds: "LDS", workgroups: "workgroup slots" } as Record<string, string>,
  limitsShort: { warps: "warps", registers: "regs", shared_mem: "shared", blocks: "blocks", wavefronts: "waves", vgprs: "VGPRs", sgprs: "SGPRs", lds: "LDS", workgroups: "groups" } as Record<string, string>,
  stallShare: (part: string, reason: string) => `${part} of its samples: ${reason}`,
  unlimited: "no limit",
  configsNone: "No launch of this kernel says how it was configured.",
  limiter: "limits",
  calls: (n: string, time: string) => `${n} ${n === "1" ? "launch" : "launches"}, ${time}`,
  stallsText: "Samples by reason; the dark part in cycles in which the scheduler issued nothing.",
  stallsPlain: "Samples by reason.",
  reasonUnknown: "not known",
  samples: (n: string, part: string) => `${n} samples, ${part}`,
  code: "Code",
  codeCut: "Instructions are kept of the functions with most samples; this one is beyond them. gpufl report --kernel shows it.",
  order: "Ways to show the code",
  ways: { hot: "Hot lines first", file: "In the file's order", ptx: "PTX" } as Record<string, string>,
  ptx: "PTX of this kernel",
  ptxText: "As the compiler left it in the cubin, beside the line table.",
  noLine: "Instructions without a line",
  notKept: "The text of this file is not kept with the session.",
  atLine: (place: string) => `Source line ${place}`,
  withoutLine: "Without the line",
  launchedHere: (time: string) => `Launched from this line: ${time} on the GPU, by the stacks of launches that have one.`,
  lineHead: (part: string, n: string) => `${part} of the samples, ${n} ${n === "1" ? "instruction" : "instructions"}`,
  threads: (n: string) => `${n} of 32`,
  wavefronts: (n: string) => `${n} ×`,
  wavefrontsText: (n: string) => `${n} times as many wavefronts of shared memory as are needed`,
} as const;
