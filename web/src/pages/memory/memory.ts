// memory.ts - bandwidth and sizes from rows of copies, and the report of managed memory.
import { list, number, raw, word } from "../../format/raw";
import { captured } from "../../text/captured";
import { memory as text } from "../../text/memory";

/** Kinds of memory that go through a staging buffer; src_memory and dst_memory of record memcpy. */
const PAGEABLE = 1;

export interface Copies {
  kind: number | null;
  src_memory: number | null;
  dst_memory: number | null;
  calls: number | null;
  bytes: number | null;
  total: number | null; // ns
}

export const pageable = (row: Copies): boolean => row.src_memory === PAGEABLE || row.dst_memory === PAGEABLE;

/** Bytes a second; null if one of them is not known, or if no time passed. */
export const bandwidth = (row: { bytes: number | null; total: number | null }): number | null => (row.bytes !== null && row.total ? row.bytes / (row.total / 1e9) : null);

export interface SizeRow {
  kind: number;
  bin: number; // floor(log2(bytes)); -1: 0 bytes
  calls: number | null;
  bytes: number | null;
  total: number | null;
  bandwidth: number | null;
  best: number; // the best of the kind's rows
}

/** By kind, the kind with most time first; within a kind by size. */
export function sizesOf(rows: readonly { kind: number | null; bin: number | null; calls: number | null; bytes: number | null; total: number | null }[]): SizeRow[] {
  const time = new Map<number, number>();
  const best = new Map<number, number>();
  const made = rows.map((row) => ({ ...row, kind: row.kind ?? 0, bin: row.bin ?? -1, bandwidth: bandwidth(row) }));
  for (const row of made) {
    time.set(row.kind, (time.get(row.kind) ?? 0) + (row.total ?? 0));
    best.set(row.kind, Math.max(best.get(row.kind) ?? 0, row.bandwidth ?? 0));
  }
  return made.map((row) => ({ ...row, best: best.get(row.kind)! })).sort((a, b) => time.get(b.kind)! - time.get(a.kind)! || a.kind - b.kind || a.bin - b.bin);
}

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

/** A power of two in bytes, without decimals: 11 is "2 KiB". */
const power = (of: number): string => `${2 ** (of % 10)} ${UNITS[Math.floor(of / 10)]}`;

/** The sizes of a bin, which is floor(log2(bytes)), or -1 for nothing. */
export const sizeOf = (bin: number): string => (bin < 0 ? text.empty : bin === 0 ? power(0) : text.sizeOf(power(bin), power(bin + 1)));

/** Why a session has no allocations. part: the report's, with the ledger; undefined: not here yet. */
export function allocationsNote(part: unknown): string {
  const row = list(raw(part).capabilities).find(({ feature }) => feature === "memory");
  const status = word(row?.status);
  if (status === "not_requested") return text.allocationsNotAsked;
  if (!row || ["collected", "partial", "enabled_no_data"].includes(status)) return text.allocationsNone;
  return text.allocationsNot(captured.statuses[status] ?? status, word(row.reason));
}

/** Kinds of records of managed memory, as the report names and orders them (docs/report.md). */
export const MANAGED = ["to_device", "to_host", "between_devices", "host_faults", "device_faults", "thrashing", "throttling", "mapped", "unknown"] as const;

export interface Managed {
  kind: (typeof MANAGED)[number];
  calls: number;
  bytes: number | null; // null: this kind has no bytes
  faults: number | null;
  total: number | null; // ns
}

/** part: the report's, with managed_memory. Returns the kinds that occurred. */
export function managedOf(part: unknown): Managed[] {
  const from = raw(raw(part).managed_memory);
  return MANAGED.flatMap((kind) => {
    const row = raw(from[kind]);
    const calls = number(row.count) ?? 0;
    return calls > 0 ? [{ kind, calls, bytes: number(row.bytes) || null, faults: number(row.faults) || null, total: number(row.total_ns) || null }] : [];
  });
}
