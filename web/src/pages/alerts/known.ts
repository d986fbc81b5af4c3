// known.ts - whether the conditions of rules can be known: the server takes the values of hosts and
// GPUs from samples that are not old, and an unknown value makes no condition true.
import type { RowAlert, RowGpuNow, RowHostNow } from "../../api/schema";
import { count, date } from "../../format/format";
import { raw, word } from "../../format/raw";
import { alerts as text } from "../../text/alerts";
import { isSilent } from "../fleet/health";

type Watched = Pick<RowHostNow | RowGpuNow, "state">;
export type WatchedRule = Pick<RowAlert, "enabled" | "kind" | "subject">;

/** When the newest sample was taken, ns since the epoch; null: there is none. */
const sampledAt = ({ state }: Watched): string | null => word(raw(state).time) || null;

const newest = (times: readonly (string | null)[]): string | null =>
  times.reduce((last, time) => (time !== null && (last === null || BigInt(time) > BigInt(last)) ? time : last), null);

/** Rules about silence have a value without a sample; rules about findings are not about hosts. */
const needsSamples = ({ enabled, kind, subject }: WatchedRule): boolean => enabled && kind === "metric" && !subject.endsWith(".silent");

/** What cannot be known of the conditions now; null: every condition is known. */
export function unknownText(rules: readonly WatchedRule[], watched: readonly Watched[], nowMs: number): string | null {
  if (!rules.some(needsSamples)) return null;
  const times = watched.map(sampledAt);
  const silent = times.filter((time) => isSilent(time, nowMs)).length;
  if (silent < times.length) return silent ? text.partUnknown(count(silent), count(times.length)) : null;
  const last = newest(times);
  return last === null ? text.neverKnown : text.allUnknown(date(last));
}

/** What the page says if no condition holds. */
export function quietText(rules: readonly WatchedRule[], watched: readonly Watched[], nowMs: number): string {
  if (!rules.some(({ enabled }) => enabled)) return text.noneEnabled;
  return unknownText(rules, watched, nowMs) ?? text.nowNone;
}
