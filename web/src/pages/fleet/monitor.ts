// monitor.ts - which session of a host's monitor is shown.
import type { RowSession } from "../../api/schema";

/** The application that gpufl-monitor names in its sessions, unless it is told another name. */
export const MONITOR = "gpufl-monitor";

/** So many sessions of a monitor can be chosen among: a new one begins each day. */
export const CHOICES_MOST = 31;

/** The session of that id, or else the newest one; rows are newest first. None: nothing is shown. */
export const chosenOf = (rows: readonly RowSession[], id: string): RowSession | undefined => rows.find((row) => row.id === id) ?? rows[0];
