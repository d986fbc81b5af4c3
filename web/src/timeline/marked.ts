// marked.ts - the domain and the payload of a mark.
import { client } from "../api/client";
import { nameOf } from "../api/columns";

export interface Marked {
  domain: string | null;
  payload: string | null; // a number in digits; null: the mark has none
}

const AT_ONCE = 1000; // marks of a thread within one ns, at most
const ZEROS = 21; // digits that are written out, the same limit as JavaScript's

/** value x 10^exponent, exactly. */
export function decimalText(value: number, exponent: number): string {
  const [sign, digits] = value < 0 ? ["-", String(-value)] : ["", String(value)];
  if (exponent >= 0 && digits.length + exponent <= ZEROS) return sign + (value === 0 ? "0" : digits + "0".repeat(exponent));
  if (exponent >= 0 || -exponent > ZEROS) return `${sign}${digits}e${exponent}`;
  const padded = digits.padStart(1 - exponent, "0");
  return `${sign}${padded.slice(0, exponent)}.${padded.slice(exponent)}`;
}

/** null: there is no such mark. */
export async function markOf(session: string, thread: number, start: number, name: string, signal: AbortSignal): Promise<Marked | null> {
  const answer = await client.get("marks", { session, threads: String(thread), from: start, to: start + 1, limit: AT_ONCE }, signal);
  const { data } = answer;
  const rows = Array.from({ length: answer.rows }, (_, i) => i);
  const row = rows.find((i) => nameOf(answer, data.name[i] ?? null) === name) ?? rows[0];
  if (row === undefined) return null;
  const value = data.value[row] ?? null;
  return { domain: nameOf(answer, data.domain[row] ?? null), payload: value === null ? null : decimalText(value, data.exponent[row] ?? 0) };
}
