// HostTime.tsx - where the host's time went, by line and state, in a session without records of kernels.
import type { HostLine, HostTime as Time } from "../../api/host";
import { count, duration, exact, percent } from "../../format/format";
import { host as text } from "../../text/host";
import { syncs } from "../../text/syncs";
import { Listing, timeColumn, type Column } from "../../ui/Listing";
import { Name } from "../../ui/Name";
import { Meter, Panel } from "../../ui/parts";
import { shortFunction } from "./calls";
import { stateOf } from "./state";

const head = text.columns;

const columnsFor = (all: number): Column<HostLine>[] => [
  {
    label: head.place,
    show: (line) => (
      <>
        <span className="place" title={line.file ?? undefined}>
          {line.place ?? syncs.noPlace}
        </span>
        {line.function && (
          <div className="quiet small two-lines">
            <Name short={shortFunction(line.function)} full={line.function} />
          </div>
        )}
      </>
    ),
  },
  { label: head.state, show: stateOf },
  timeColumn(head.time, (line) => line.ns),
  { label: head.error, right: true, show: (line) => (line.halfWidth === 0 ? "" : duration(line.halfWidth)), title: (line) => exact(line.halfWidth, "ns") },
  {
    label: head.share,
    right: true,
    show: (line) => (
      <>
        {percent(line.ns / all)}
        <Meter part={line.ns / all} warm />
      </>
    ),
  },
];

export function HostTime({ time }: { time: Time }) {
  return (
    <Panel title={text.heading}>
      <p className="panel-body small quiet">{text.about(time.threads, duration(time.ns), count(time.samples))}</p>
      <Listing label={text.heading} columns={columnsFor(time.ns)} rows={time.lines} keyOf={(_, at) => at} />
    </Panel>
  );
}
