// hostile.mjs - a session in which every name is markup, as a program, its sender or its author
// could write it to attack a reader's page.
import { BEGIN, REAL, deltas, header, lineOf } from "./sessions.mjs";

/** Markup that must stay text; `field` says where it came from. */
export const nasty = (field) => `${field} <script>window.taken=1</script><img src=x onerror="window.taken=2"><svg onload=window.taken=3>"'><b id=taken>&lt;javascript:window.taken=4\u202e`;
const NUL = (field) => `${nasty(field)}\u0000`;

const ROUNDS = 400;
const STEP = 1_000_000;

export function hostileSession(id) {
  const texts = new Map();
  const name = (text) => texts.get(text) ?? (texts.set(text, texts.size + 1), texts.size);
  const head = (channel) => ({ ...header(id, channel, nasty("app")), host: nasty("host"), command: nasty("command"), version: nasty("version"), system: nasty("system"), run: "" });
  const each = (make) => Array.from({ length: ROUNDS }, (_, at) => make(at));
  const times = (late) => deltas(each((at) => BEGIN + at * STEP + late));
  const ids = deltas(each((at) => at + 1));
  const none = 0;
  const file = name(nasty("file").replace("\u202e", "")); // findings name it, with question marks instead of such letters
  const source = `one\n${nasty("source")}\nthree\n`;

  const device = [
    { type: "device", rows: 1, id: 1, index: 0, name: name(nasty("gpu")), uuid: name(nasty("uuid")), vendor: name("sim"), pci: name(nasty("pci")), arch: name(nasty("arch")), driver: name(nasty("driver")), memory_total: 1 << 30, sm_count: 132, warp_size: 32, max_threads_per_sm: 2048, max_blocks_per_sm: 32, regs_per_sm: 65536 },
    { type: "stream", rows: 1, id: 1, device: 1, context: 1, number: 7 },
    { type: "config", rows: 1, id: 1, name: name(nasty("kernel")), device: 1, grid_x: 1, grid_y: 1, grid_z: 1, block_x: 32, block_y: 1, block_z: 1, registers: 64, occ_limiter: name(nasty("limiter")), occ_blocks: 4, occ_warps: 4, occ_max_warps: 64 },
    { type: "kernel", rows: ROUNDS, start: times(0), duration: 300_000, config: 1, stream: 1, correlation: ids, scope: ids, graph: 0, graph_node: none, external_kind: 0, external_id: none, stack: 1, inherited: 0, thread: 77 },
    { type: "memcpy", rows: 1, start: BEGIN + 310_000, duration: 1000, bytes: 4096, kind: 1, stream: 1, correlation: 1, scope: 0, stack: 1 },
    { type: "alloc", rows: 1, time: BEGIN + 1000, op: 1, memory: 3, address: "7f00", bytes: 4096, device: 1, stream: 0, correlation: 0 },
    { type: "pc_sample", rows: 1, start: BEGIN, duration: ROUNDS * STEP, device: 1, context: 1, function: 1, offset: 16, reason: 1, samples: 100_000, scope: 0, correlation: null },
    { type: "counter", rows: 1, start: BEGIN, duration: 1000, source: 1, device: 1, metric: name(nasty("metric")), value: 5, exponent: 0, scope: 0, kernel: name(nasty("kernel")), range: name(nasty("range")), ordinal: 1, correlation: null },
  ];
  const scope = [
    { type: "thread", rows: 1, id: 77, name: name(nasty("thread")) },
    { type: "scope", rows: ROUNDS, start: times(-200_000), duration: 900_000, instance: ids, parent: 0, name: name(nasty("scope")), tag: name(nasty("tag")), thread: 77, depth: 0, repeat: 0, warmup: 0 },
    { type: "wait", rows: ROUNDS, start: times(-100_000), duration: 600_000, call: 3, async: 0, stream: 1, correlation: ids, scope: ids, stack: 1, thread: 77, launches: ids, bytes: null },
  ];
  const code = [
    { type: "module", rows: 1, id: 1, path: name(nasty("module")), build_id: 0, kind: 1, base: "1000", size: 4096, mtime: null },
    { type: "frame", rows: 2, id: [1, 2], kind: [2, 2], module: 0, offset: "0", function: [name(nasty("function")), name(nasty("caller"))], file: file, line: [2, 9], first_line: 1 },
    { type: "stack", rows: 2, id: [2, 1], parent: [0, 2], frame: [2, 1], depth: [1, 2] },
    { type: "code_object", rows: 1, id: 1, crc: "ab", module: name(nasty("object")), arch: name("sm_90"), size: 100, file: 0 },
    { type: "function", rows: 1, id: 1, object: 1, name: name(nasty("kernel")), index: 1, file: file },
    { type: "stall_reason", rows: 1, id: 1, name: name(nasty("stall")), driver_name: name("x"), index: 1, issued: null },
    { type: "instruction", rows: 1, function: 1, offset: 16, level: 0, text: name(nasty("sass")), file: file, line: 2, inlined: name(nasty("inlined")) },
    { type: "source", rows: 1, path: file, hash: "1", size: Buffer.byteLength(source), mtime: null, offset: 0, text: name(source) },
  ];
  const system = [
    { type: "clock", rows: 1, monotonic: BEGIN, real: `${REAL}`, uncertainty: 0 },
    { type: "device_metric", rows: 20, time: deltas(Array.from({ length: 20 }, (_, at) => BEGIN + at * 20 * STEP)), device: 1, gpu_util: 50, power: 200_000, temperature: 60 },
    { type: "option", rows: 1, name: name(nasty("option")), value: name(NUL("value")), source: name("code") },
    { type: "capability", rows: 1, feature: name(nasty("feature")), requested: 1, status: name("failed"), reason: name(nasty("reason")) },
    { type: "message", rows: 1, time: BEGIN, severity: 2, code: name("x"), text: name(nasty("message")) },
    { type: "end", rows: 1, time: BEGIN + ROUNDS * STEP, reason: name("shutdown") },
  ];
  const lines = (channel, records) => [head(channel), { type: "names", rows: texts.size, id: [...texts.values()], text: [...texts.keys()] }, ...records].map(lineOf).join("");
  return { id, app: nasty("app"), channels: { code: lines("code", code), scope: lines("scope", scope), device: lines("device", device), system: lines("system", system) } };
}
