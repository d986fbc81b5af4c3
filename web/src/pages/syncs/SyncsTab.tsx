// SyncsTab.tsx - where the host waited for the GPU, line by line, and whether a loop waits there.
import { hostTimeOf } from "../../api/host";
import { syncLines, type SyncLine } from "../../api/report";
import { onSession, useApi } from "../../api/use";
import { vendorOf } from "../../api/vendor";
import { count, duration, exact, percent } from "../../format/format";
import { Link } from "../../router/Link";
import { href, useQuery } from "../../router/router";
import { syncs as text } from "../../text/syncs";
import { countColumn, Listing, timeColumn, type Column } from "../../ui/Listing";
import { evidenceOf, Verdict } from "../../timeline/waitLine";
import { part } from "../../ui/Boundary";
import { Name } from "../../ui/Name";
import { Empty, Meter, Panel, ProblemView, Skeleton } from "../../ui/parts";
import { longestOf } from "../insights/evidence";
import { calledAt, shortFunctions } from "./calls";
import { HostTime } from "./HostTime";
import { isOver } from "../session/facts";
import type { TabProps } from "../session/tabs";

/** The source window is loaded when a line is first opened. */
const SourceLine = part(() => import("../insights/SourceLine"), (m) => m.SourceLine);

const head = text.columns;

/** The longest wait, and its place on the timeline. */
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

/** A line in the address. */
const keyOf = (line: SyncLine): string => `${line.file}:${line.line}`;

const KINDS = 3; // of calls that are shown
const PLACE = { minWidth: "10.25rem" } as const; // "train_loop.cu:235" on one line
const ONE_LINE = { whiteSpace: "nowrap" } as const; // a row of several kinds has no more lines than kinds

/** The kinds of calls that waited at a line, each with its time. */
function Called({ line, vendor }: { line: SyncLine; vendor: string }) {
  const kinds = calledAt(line, vendor);
  const whole = kinds.map(({ name, calls, ns }) => `${count(calls)} ${name}: ${exact(ns, "ns")}`).join("; ");
  return (
    <div className="small" title={whole}>
      {kinds.slice(0, KINDS).map(({ name, ns }) => (
        <div key={name} style={kinds.length > 1 ? ONE_LINE : undefined}>
          {name} <span className="quiet number">{duration(ns)}</span>
        </div>
      ))}
      {kinds.length > KINDS && <div className="quiet">{text.more(kinds.length - KINDS)}</div>}
    </div>
  );
}

const columnsFor = (session: string, vendor: string, short: ReadonlyMap<string, string>, onLine: (line: string) => void): Column<SyncLine>[] => [
  {
    label: head.place,
    show: (line) => (
      <div style={PLACE}>
        {line.file ? (
          <button type="button" className="place" title={line.file} onClick={() => onLine(keyOf(line))}>
            {line.place}
          </button>
        ) : (
          <span className="place">{line.place ?? text.noPlace}</span>
        )}
        {line.function && (
          <div className="quiet small two-lines">
            <Name short={short.get(line.function) ?? line.function} full={line.function} />
          </div>
        )}
      </div>
    ),
  },
  { label: head.what, show: (line) => <Called line={line} vendor={vendor} /> },
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
  const [opened, setOpened] = useQuery("line");
  const asked = useApi("section_sync", { session: session.id }, { every: session.state === "live" ? 5000 : 0, on: onSession(session.id), settled: isOver(session) });
  if (asked.problem && !asked.data) return <ProblemView problem={asked.problem} again={asked.again} />;
  if (!asked.data) return <Skeleton rows={8} />;
  const lines = syncLines(asked.data);
  const short = shortFunctions(lines.flatMap((line) => line.function ?? []));
  const open = lines.find((line) => line.file && keyOf(line) === opened);
  const host = hostTimeOf(asked.data);
  if (lines.length === 0 && !host) return <Empty title={text.none} text={text.noneText} />;
  return (
    <>
      {host && <HostTime time={host} />}
      {lines.length > 0 && (
        <Panel title={text.heading}>
          <Listing label={text.heading} columns={columnsFor(session.id, vendorOf(session), short, setOpened)} rows={lines} keyOf={(_, at) => at} />
          {open && <SourceLine session={session.id} file={open.file!} line={open.line ?? 0} evidence={evidenceOf(open)} onClose={() => setOpened("")} />}
        </Panel>
      )}
    </>
  );
}
