// filters.ts - the question to the server's list of sessions that the address contains.
import type { Parameters } from "../../api/client";

export const FILTERS = ["app", "host", "gpu", "engine"] as const;
export const STATES = ["live", "ended", "aborted"] as const;
export const SORTS = ["started", "duration", "kernels", "bytes", "busy", "app", "host"] as const;
export const NARROWING = ["app", "host", "gpu", "engine", "state", "text", "label", "account", "since"] as const;
export const PAGE = 200;
const STEP_S = 60; // so that a question, and its kept answer, stay the same for a minute

export type Asked = Parameters<"sessions">;

/** "key=value" or "key"; "" asks for no label. */
export function labelOf(text: string): { label?: string; label_value?: string } {
  const at = text.indexOf("=");
  const key = (at < 0 ? text : text.slice(0, at)).trim();
  if (!key) return {};
  return at < 0 ? { label: key } : { label: key, label_value: text.slice(at + 1).trim() };
}

/** Seconds back from now, as ns since the Unix epoch to the minute; undefined: no limit. */
export function sinceOf(text: string, nowMs: number): string | undefined {
  const seconds = Number(text);
  if (!text || !Number.isFinite(seconds) || seconds <= 0) return undefined;
  const at = Math.floor((nowMs / 1000 - seconds) / STEP_S) * STEP_S;
  return String(BigInt(Math.max(1, at)) * 1_000_000_000n);
}

/** The parameters of the address that are a question to the server; the others say how the
 * answer is shown. */
export const askingOf = (query: URLSearchParams): string =>
  new URLSearchParams([...NARROWING, "sort", "ascending"].flatMap((name) => (query.get(name) ? [[name, query.get(name)!]] : []))).toString();

export function askedFor(query: URLSearchParams, nowMs: number): Asked {
  const value = (name: string) => query.get(name) ?? "";
  const wanted = value("sort");
  const sort = SORTS.find((known) => known === wanted) ?? "started";
  const named = Object.fromEntries([...FILTERS, "state", "text", "account"].map((name) => [name, value(name)]).filter(([, v]) => v));
  const from = sinceOf(value("since"), nowMs);
  return { ...named, ...labelOf(value("label")), ...(from ? { from } : {}), sort, ascending: value("ascending") === "true", limit: PAGE };
}

/** The question without order and pages, for counting. */
export const countedFor = (asked: Asked): Parameters<"session_count"> => Object.fromEntries(Object.entries(asked).filter(([name]) => !["sort", "ascending", "limit"].includes(name)));
