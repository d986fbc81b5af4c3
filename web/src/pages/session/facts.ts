// facts.ts - the facts of a session's row. Its JSON columns contain what a sender wrote, so that
// they are read with care.
import type { RowSession } from "../../api/schema";

/** Everything arrived and was analysed: the session does not change any more by itself. */
export const isOver = (session: RowSession): boolean => session.state !== "live" && session.analyzed;

/** Product names, in the order of the devices. */
export function gpusOf(session: RowSession): string[] {
  if (!Array.isArray(session.gpus)) return [];
  return session.gpus.map((gpu: unknown) => (typeof gpu === "object" && gpu && "name" in gpu ? String(gpu.name) : ""));
}

export function gpuNames(session: RowSession): string {
  const names = gpusOf(session);
  const times = new Map<string, number>();
  for (const name of names.filter(Boolean)) times.set(name, (times.get(name) ?? 0) + 1);
  return [...times].map(([name, n]) => (n > 1 ? `${n} × ${name}` : name)).join(", ");
}

function pairsOf(session: RowSession): [string, unknown][] {
  const labels = session.labels;
  return typeof labels !== "object" || labels === null || Array.isArray(labels) ? [] : Object.entries(labels);
}

/** The run of the session, with its passes and processes; "": none. */
export function runOf(session: RowSession): string {
  const run = new Map(pairsOf(session)).get("run");
  return typeof run === "string" ? run : "";
}

/** "2 of 4": the pass of its command (`gpufl trace --passes`); null: the command ran once. */
export function passOf(session: RowSession): { pass: number; passes: number } | null {
  const found = /^(\d+) of (\d+)$/.exec(String(new Map(pairsOf(session)).get("pass") ?? ""));
  return found ? { pass: Number(found[1]), passes: Number(found[2]) } : null;
}

export function labelsOf(session: RowSession): string {
  return pairsOf(session)
    .filter(([key]) => key !== "run") // the run's sessions have a page, to which the header links
    .map(([key, value]) => (value === "" ? key : `${key}=${String(value)}`))
    .join(", ");
}
