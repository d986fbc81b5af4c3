// local.ts - which page `gpufl view` opens first, by the address and by the sessions that the server has.
import type { RowSession } from "../../api/schema";
import { isOver, passOf, runOf } from "../session/facts";

/** Processes of one command up to which the page looks for the one that used the GPU. */
export const MOST = 64;

/** "#session=ID", which `gpufl view` adds to the address of a folder with one session. */
export const sessionOfHash = (hash: string): string | null => /^#session=([\w.-]{1,256})$/.exec(hash)?.[1] ?? null;

/** "#sessions=N", which it adds to that of a folder with several. */
export const sessionsOfHash = (hash: string): number | null => {
  const n = Number(/^#sessions=(\d{1,6})$/.exec(hash)?.[1] ?? 0);
  return n > 1 ? n : null;
};

/** The session that used the GPU, if the others of its command are over and did not; "list" if there is none; null:
 * that is not known yet. What a session without known kernels did is unknown, so it may be the one. */
export function theOneAtWork(rows: readonly RowSession[], several: number): RowSession | "list" | null {
  const run = rows[0] ? runOf(rows[0]) : "";
  if (several > MOST || (rows.length > 0 && !run) || rows.some((row) => runOf(row) !== run || passOf(row))) return "list";
  const [atWork, pending] = [rows.filter((row) => row.kernels !== 0 && (row.kernels !== null || isOver(row))), rows.filter((row) => row.kernels === null && !isOver(row))];
  if (atWork.length > 1) return "list";
  if (rows.length < several) return null;
  const idle = rows.filter((row) => row.kernels === 0 && isOver(row));
  if (idle.length === rows.length) return "list";
  if (idle.length === rows.length - 1) return [...atWork, ...pending][0] ?? null;
  return null;
}
