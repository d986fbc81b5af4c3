// metrics.ts - which samples are drawn, how their numbers are written, and how steps are chosen.
// Columns are those of the records device_metric and host_metric.
import { bytes, count, duration, grouped, UNKNOWN } from "./format";

type Show = (value: number | null) => string;

export interface Metric {
  name: string;
  text: string; // key of system.metrics (text/system.ts)
  label?: string; // used instead of that text
  colour: string;
  show: Show;
  top?: number; // least upper end of the axis
  binary?: boolean; // in bytes
  grows?: boolean; // a counter since the driver was loaded: what came during the session is shown
}

const unit =
  (suffix: string, divide = 1, digits = 0): Show =>
  (value) =>
    value === null ? UNKNOWN : `${grouped(Number((value / divide).toFixed(digits)))} ${suffix}`;
const plain: Show = (value) => (value === null ? UNKNOWN : grouped(value));
/** Energy in mJ. */
const joule: Show = (value) => (value !== null && Math.abs(value) < 1e6 ? unit("J", 1e3, 1) : unit("kJ", 1e6, 1))(value);
/** Bytes a second. */
export const rate: Show = (value) => (value === null ? UNKNOWN : `${bytes(value)}/s`);

export const DEVICE: readonly Metric[] = [
  { name: "gpu_util", text: "gpu_util", colour: "--series-1", show: unit("%"), top: 100 },
  { name: "mem_util", text: "mem_util", colour: "--series-6", show: unit("%"), top: 100 },
  { name: "memory_used", text: "memory_used", colour: "--series-4", show: bytes, binary: true },
  { name: "power", text: "power", colour: "--series-2", show: unit("W", 1000, 1) },
  { name: "temperature", text: "temperature", colour: "--series-5", show: unit("°C") },
  { name: "clock_sm", text: "clock_sm", colour: "--series-3", show: unit("MHz") },
  { name: "clock_mem", text: "clock_mem", colour: "--series-3", show: unit("MHz") },
  { name: "pcie_rx", text: "pcie_rx", colour: "--series-6", show: rate, binary: true },
  { name: "pcie_tx", text: "pcie_tx", colour: "--series-6", show: rate, binary: true },
];

/** Metrics that only some GPUs report, AMD's above all. Only the page of a session's samples
 * shows them. */
export const DEVICE_MORE: readonly Metric[] = [
  { name: "temperature_junction", text: "temperature_junction", colour: "--series-5", show: unit("°C") },
  { name: "temperature_memory", text: "temperature_memory", colour: "--series-5", show: unit("°C") },
  { name: "fan", text: "fan", colour: "--series-1", show: unit("%"), top: 100 },
  { name: "voltage", text: "voltage", colour: "--series-2", show: unit("V", 1000, 3) },
  { name: "pcie_total", text: "pcie_total", colour: "--series-6", show: rate, binary: true },
  { name: "energy", text: "energy", colour: "--series-2", show: joule, grows: true },
  { name: "ecc_corrected", text: "ecc_corrected", colour: "--series-3", show: plain, grows: true },
  { name: "ecc_uncorrected", text: "ecc_uncorrected", colour: "--series-5", show: plain, grows: true },
];

export const HOST: readonly Metric[] = [
  { name: "cpu", text: "cpu", colour: "--series-1", show: unit("%", 100, 1), top: 10000 },
  { name: "process_cpu", text: "process_cpu", colour: "--series-1", show: unit("%", 100, 1) },
  { name: "memory_used", text: "host_memory_used", colour: "--series-4", show: bytes, binary: true },
  { name: "process_rss", text: "process_rss", colour: "--series-4", show: bytes, binary: true },
  { name: "cpu_throttled", text: "cpu_throttled", colour: "--series-2", show: plain },
  { name: "faults_major", text: "faults_major", colour: "--series-5", show: plain },
  { name: "swap_in", text: "swap_in", colour: "--series-6", show: bytes, binary: true },
  { name: "memory_waits", text: "memory_waits", colour: "--series-5", show: unit("%", 100, 1), top: 10000 },
];

/** Allocated memory is not a sample: it is the sum of the program's own allocations. */
export const ALLOCATED: Metric = { name: "allocated", text: "allocated", colour: "--series-4", show: bytes, binary: true };

const COUNTER_COLOURS = ["--series-1", "--series-2", "--series-3", "--series-4", "--series-5", "--series-6"];

/** A hardware counter that was sampled over time; its values are asked for by `id`. */
export interface Counter {
  device: number; // id in the session, from 1
  id: number;
  name: string; // the driver's name
}

/** The unit by the driver's name: percent, bytes, or just a number. */
export function counterMetric({ id, name }: Counter): Metric {
  const share = /pct/.test(name);
  const binary = /bytes/.test(name);
  const perSecond = /per_second/.test(name);
  const plain: Show = (value) => (value === null ? UNKNOWN : Math.abs(value) >= 1000 ? count(value) : String(Number(value.toPrecision(3))));
  const show: Show = share ? (value) => (value === null ? UNKNOWN : `${Number(value.toPrecision(3))} %`) : binary ? (perSecond ? rate : bytes) : plain;
  return { name: `counter.${id}`, text: name, label: name, colour: COUNTER_COLOURS[id % COUNTER_COLOURS.length]!, show, ...(share ? { top: 100 } : {}), ...(binary ? { binary } : {}) };
}

const STEPS = 600;

/** A step that yields some hundred points for a session of that length, at least 1 ms. */
export const stepFor = (lengthNs: number | null): number => Math.max(1_000_000, Math.ceil((lengthNs ?? 0) / STEPS));

export const seconds = (value: number): string => (value === 0 ? "0" : duration(value * 1e9));
