// kernel.ts - texts of a kernel's page: occupancy, stalls, code.

/** Texts with words that differ between the vendors of GPUs (docs/GLOSSARY.md). */
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
  /** How many times a grid fills the GPU. On AMD's GPUs a wave is a wavefront, so that the text says rounds. */
  waves: (waves: string) => string;
  /** Names of the numbers of findings that differ from text/evidence.ts. */
  evidence: Record<string, string>;
  /** Names of events of the timeline that differ from the server's (src/wire/event_name.c). */
  events: Record<string, string>;
  /** Reasons for low clocks that differ from text/fleet.ts. */
  reasons: Record<string, string>;
  /** Metrics of a GPU that differ from text/system.ts. */
  metrics: Record<string, string>;
  /** What a metric of a GPU means, if its name does not say so. */
  notes: Record<string, string>;
  /** Ranges that programs mark by the vendor's library. */
  ranges: string;
  /** Engine PcSampling in the form that asks for a capture. */
  sampling: string;
  sampled: string;
  samplesOfScopes: string;
  counted: string;
}

const ONE_CORE = "100 % is one core.";

const nvidia: Words = {
  occupancyText: "Theoretical occupancy: the part of an SM's warp slots that resident warps use.",
  resources: { warps: "warp slots", registers: "registers", shared_mem: "shared memory", blocks: "block slots" },
  registersText: "of a thread, the most of its launch configurations",
  spillsText: "Local memory of a thread: spilled registers or arrays that are indexed.",
  allows: "Blocks per SM that each resource allows; the smallest number decides",
  occupancyUnknown: "The occupancy is unknown, because the registers or shared memory of the launch, or the limits of the GPU, were not recorded.",
  facts: (registers, shared, local) => `${registers} registers a thread, ${shared} shared memory a block${local}`,
  spills: (bytes) => `, ${bytes} local memory a thread (spills or stack)`,
  stalls: "Why warps wait",
  stallsNone: "There are no samples of this kernel. The engines PcSampling and Deep take samples.",
  codeNone: "There are no instructions of this kernel. The engines PcSampling, SassMetrics and Deep record instructions.",
  columns: { offset: "Offset", sass: "SASS", samples: "Samples", reason: "Most of them", executed: "Executed", threads: "Threads of a warp", coalescing: "Needed of the traffic", conflicts: "Bank conflicts" },
  launch: { block: "Block", registers: "Registers a thread", shared: "Shared memory a block", local: "Local memory a thread", occupancyOf: (part, waves, most) => `${part} (${waves} of ${most} warps)` },
  configs: { block: "Block", shared: "Shared memory" },
  shape: (grid, block) => `grid ${grid}, block ${block}`,
  waves: (waves) => `${waves} waves`,
  evidence: {},
  events: {},
  reasons: {},
  metrics: {},
  notes: { gpu_util: "NVML reports the part of each sample's time in which any program had a kernel on the GPU. GPU busy is the time in which this session's work ran, and may be less.", process_cpu: ONE_CORE },
  ranges: "NVTX ranges (torch.cuda.nvtx.range_push in PyTorch)",
  sampling: "Samples that show where warps stall.",
  sampled: "Shares of the time in which multiprocessors had work, with their error at 95 %. They include kernels that are not recorded.",
  samplesOfScopes: "Why warps waited while each scope was open. Samples of windows that several scopes share are counted for no scope.",
  counted: "Threads: the part of a warp's threads that work. Needed: the part of the sectors of global memory that is used. Conflicts: wavefronts of shared memory for each that is needed.",
};

const amd: Words = {
  occupancyText: "Theoretical occupancy: the part of a compute unit's wavefront slots that resident wavefronts use.",
  resources: { warps: "wavefront slots", registers: "registers", shared_mem: "LDS", blocks: "workgroup slots" },
  registersText: "of a work-item, the most of its launch configurations",
  spillsText: "Scratch memory of a work-item: spilled registers or arrays that are indexed.",
  allows: "Workgroups per compute unit that each resource allows; the smallest number decides",
  occupancyUnknown: "The occupancy is unknown, because the registers or LDS of the launch, or the limits of the GPU, were not recorded.",
  facts: (registers, shared, local) => `${registers} registers a work-item, ${shared} LDS a workgroup${local}`,
  spills: (bytes) => `, ${bytes} scratch memory a work-item (spills or stack)`,
  stalls: "Why wavefronts wait",
  stallsNone: "There are no samples of this kernel. The engine PcSampling takes samples on MI200 and newer GPUs.",
  codeNone: "There are no instructions of this kernel: its code was loaded before the session, or could not be disassembled.",
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
  notes: { gpu_util: "AMD's driver reports the part of each sample's time in which the GPU worked for any program. GPU busy is the time in which this session's work ran, and may be less.", process_cpu: ONE_CORE },
  ranges: "rocTX ranges (roctxRangePush)",
  sampling: "Samples that show where wavefronts stall.",
  sampled: "Shares of the time in which compute units had work, with their error at 95 %. They include kernels that are not recorded.",
  samplesOfScopes: "Why wavefronts waited while each scope was open. Samples of windows that several scopes share are counted for no scope.",
  counted: "Work-items: the part of a wavefront's work-items that work. Needed: the part of the sectors of global memory that is used. Conflicts: accesses of LDS for each that is needed.",
};

/** vendor: of the session's GPUs; "": not known. */
export const wordsOf = (vendor: string): Words => (vendor === "amd" ? amd : nvidia);

export const kernel = {
  occupancy: "Occupancy",
  gpu: (number: number) => `GPU ${number}`,
  occupancyLeast: (configs: string) => `Theoretical occupancy, the least of its ${configs} launch configurations.`,
  /** By the names in occ_limiter (docs/format.md), which differ between the vendors. */
  limits: { ...nvidia.resources, wavefronts: "wavefront slots", vgprs: "vector registers", sgprs: "scalar registers", lds: "LDS", workgroups: "workgroup slots" } as Record<string, string>,
  limitsShort: { warps: "warps", registers: "regs", shared_mem: "shared", blocks: "blocks", wavefronts: "waves", vgprs: "VGPRs", sgprs: "SGPRs", lds: "LDS", workgroups: "groups" } as Record<string, string>,
  stallShare: (part: string, reason: string) => `${part} of its samples: ${reason}`,
  unlimited: "no limit",
  configsNone: "No launch of this kernel says how it was configured.",
  limiter: "limits",
  calls: (n: string, time: string) => `${n} ${n === "1" ? "launch" : "launches"}, ${time}`,
  stallsText: "Samples by reason. The dark part was taken in cycles in which the scheduler issued nothing.",
  stallsPlain: "Samples by reason.",
  reasonUnknown: "not known",
  samples: (n: string, part: string) => `${n} samples, ${part}`,
  code: "Code",
  codeCut: "The server keeps the instructions of the functions with most samples, and this function is not one of them. gpufl report --kernel shows its instructions.",
  order: "Ways to show the code",
  ways: { hot: "Hot lines first", file: "In the file's order", ptx: "PTX" } as Record<string, string>,
  ptx: "PTX of this kernel",
  ptxText: "The compiler left this text in the cubin, with the line table.",
  noLine: "Instructions without a line",
  notKept: "The text of this file is not kept with the session.",
  atLine: (place: string) => `Source line ${place}`,
  withoutLine: "Without the line",
  launchedHere: (time: string) => `This line launched ${time} on the GPU, counting the launches that have a stack.`,
  lineHead: (part: string, n: string) => `${part} of the samples, ${n} ${n === "1" ? "instruction" : "instructions"}`,
  threads: (n: string) => `${n} of 32`,
  wavefronts: (n: string) => `${n} ×`,
  wavefrontsText: (n: string) => `${n} times as many wavefronts of shared memory as are needed`,
} as const;
