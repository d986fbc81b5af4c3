// SyncsTab.tsx - where the host waited for the GPU, line by line, and whether a loop does.
import { loopLaunches, syncLines, type SyncLine } from "../../api/report";
import { onSession, useApi } from "../../api/use";
import { count, duration, exact, percent } from "../../format/format";
import { Link } from "../../router/Link";
import { href } from "../../router/router";
import { en } from "../../text/en";
import { countColumn, Listing, timeColumn, type Column } from "../../ui/Listing";
import { Empty, Meter, Panel, ProblemView, Skeleton } from "../../ui/parts";
import { longestOf } from "../insights/evidence";
import type { TabProps } from "../session/tabs";

const text = en.syncs;
const head = text.columns;

function Verdict({ line }: { line: SyncLine }) {
  const launches = loopLaunches(line);
  if (!line.blocks_host) return <span className="chip">{text.stream}</span>;
  return launches === null ? <span className="quiet">{text.once}</span> : <span className="chip chip-warn">{text.loop(count(launches))}</span>;
}

/** The longest one, and where it is. */
const longest = (session: string): Column<SyncLine> => ({
  label: head.longest,
  right: true,
  title: (line) => exact(line.longest_ns, "ns"),
  show: (line) => {
    const place = longestOf({ longest_ns: line.longest_ns, longest_start_ns: line.longest_start_ns });
    return place ? (
      <Link href={href("session", { session, tab: "timeline" }, place)} aria-label={text.onTimeline(duration(line.longest_ns))}>
        {duration(line.longest_ns)}
      </Link>
    ) : (
      duration(line.longest_ns)
    );
  },
});

const columnsFor = (session: string): Column<SyncLine>[] => [
  {
    label: head.place,
    show: (line) => (
      <>
        <span className="place" title={line.file ?? undefined}>
          {line.place ?? text.noPlace}
        </span>
        <div className="quiet small wrap">{line.function}</div>
      </>
    ),
  },
  { label: head.verdict, show: (line) => <Verdict line={line} /> },
  timeColumn(head.blocked, (line) => line.blocked_ns),
  {
    label: head.share,
    right: true,
    show: (line) => (
      <>
        {percent(line.share)}
        <Meter part={line.share} warm />
      </>
    ),
  },
  countColumn(head.calls, (line) => line.calls),
  timeColumn(head.median, (line) => line.median_ns),
  timeColumn(head.p99, (line) => line.p99_ns),
  longest(session),
  timeColumn(head.idle, (line) => line.gpu_idle_ns),
];

export function SyncsTab({ session }: TabProps) {
  const asked = useApi("section_sync", { session: session.id }, { every: session.state === "live" ? 5000 : 0, on: onSession(session.id) });
  if (asked.problem && !asked.data) return <ProblemView problem={asked.problem} again={asked.again} />;
  if (!asked.data) return <Skeleton rows={8} />;
  const lines = syncLines(asked.data);
  if (lines.length === 0) return <Empty title={text.none} text={text.noneText} />;
  return (
    <Panel title={text.heading}>
      <Listing label={text.heading} columns={columnsFor(session.id)} rows={lines} keyOf={(_, at) => at} />
    </Panel>
  );
}
