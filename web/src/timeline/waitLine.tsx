// waitLine.tsx - the report's facts about the waits at a source line: whether a loop waits there,
// and the numbers.
import { loopLaunches, syncLines, type SyncLine } from "../api/report";
import { useApi } from "../api/use";
import { count } from "../format/format";
import type { SourcePlace } from "../format/place";
import { syncs as text } from "../text/syncs";

const timesOf = (calls: number): string => (calls === 1 ? text.once : text.times(count(calls)));

/** A verdict in one or two words, and what it means. */
const Said = ({ word, warn, rest }: { word: string; warn?: boolean; rest: string }) => (
  <>
    <span className={warn ? "chip chip-warn" : "chip"}>{word}</span> <span className="quiet small">{rest}</span>
  </>
);

export function Verdict({ line }: { line: SyncLine }) {
  const launches = loopLaunches(line);
  if (!line.blocks_host) return <Said word={text.stream} rest={text.notHost} />;
  return launches === null ? <span className="quiet">{timesOf(line.calls)}</span> : <Said warn word={text.loop} rest={text.between(count(launches))} />;
}

/** The numbers above the line's text, in the form of a finding's. */
export const evidenceOf = (line: SyncLine): Record<string, number | null> => ({ calls: line.calls, blocked_ns: line.blocked_ns, gpu_idle_ns: line.gpu_idle_ns, longest_ns: line.longest_ns, longest_start_ns: line.longest_start_ns });

/** The waits at a line; undefined: no line is asked for, the line has no waits, or the answer is
 * not here yet. */
export function useWaitLine(session: string, place: SourcePlace | null): SyncLine | undefined {
  const { data } = useApi("section_sync", place ? { session } : null);
  return place && data ? syncLines(data).find(({ file, line }) => file === place.file && line === place.line) : undefined;
}
