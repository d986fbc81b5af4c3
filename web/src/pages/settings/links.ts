// links.ts - when keys and links end, and which of them are open.
import type { RowShare } from "../../api/schema";
import { epochMs } from "../../format/format";

const DAY_MS = 86_400_000;

/** ns since the Unix epoch, as a text; "0": never. */
export const endAfter = (days: number, nowMs: number): string => (days ? String(BigInt(Math.round(nowMs + days * DAY_MS)) * 1_000_000n) : "0");

export const stateOf = (row: RowShare, nowMs: number): "open" | "ended" | "revoked" => (row.revoked ? "revoked" : (epochMs(row.expires) ?? 0) < nowMs ? "ended" : "open");

export const openLinks = (rows: readonly RowShare[], nowMs: number): number => rows.filter((row) => stateOf(row, nowMs) === "open").length;
