// SyncsTab.tsx - where the host waited for the GPU, line by line, and whether a loop does.
import { loopLaunches, syncLines, type SyncLine } from "../../api/report";
import { useApi } from "../../api/use";
import { count, duration, exact, percent } from "../../format/format";
import { en } from "../../text/en";
import { Empty, Meter, Panel, ProblemView, Skeleton } from "../../ui/parts";
import type { TabProps } from "../session/tabs";

const text = en.syncs;
const head = text.columns;

function Verdict({ line }: { line: SyncLine }) {
  const launches = loopLaunches(line);
  if (!line.blocks_host) return <span className="chip">{text.stream}</span>;
  return launches === null ? <span className="quiet">{text.once}</span> : <span className="chip chip-warn">{text.loop(count(launches))}</span>;
}

function Time({ ns }: { ns: number | null }) {
  return (
    <td className="right" title={exact(ns, "ns")}>
      {duration(ns)}
    </td>
  );
}

export function SyncsTab({ session }: TabProps) {
  const asked = useApi("section_sync", { session: session.id }, session.state === "live" ? 5000 : 0);
  if (asked.problem && !asked.data) return <ProblemView problem={asked.problem} again={asked.again} />;
  if (!asked.data) return <Skeleton rows={8} />;
  const lines = syncLines(asked.data);
  if (lines.length === 0) return <Empty title={text.none} text={text.noneText} />;
  return (
    <Panel title={text.heading}>
      <div className="scroll-x" tabIndex={0} role="region" aria-label={text.heading}>
        <table className="simple">
          <thead>
            <tr>
              <th scope="col">{head.place}</th>
              <th scope="col">{head.verdict}</th>
              {[head.blocked, head.share, head.calls, head.median, head.p99, head.idle].map((label) => (
                <th scope="col" className="right" key={label}>
                  {label}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {lines.map((line, at) => (
              <tr key={at}>
                <td>
                  <span className="place" title={line.file ?? undefined}>
                    {line.place ?? text.noPlace}
                  </span>
                  <div className="quiet small wrap">{line.function}</div>
                </td>
                <td>
                  <Verdict line={line} />
                </td>
                <Time ns={line.blocked_ns} />
                <td className="right">
                  {percent(line.share)}
                  <Meter part={line.share} warm />
                </td>
                <td className="right" title={exact(line.calls)}>
                  {count(line.calls)}
                </td>
                <Time ns={line.median_ns} />
                <Time ns={line.p99_ns} />
                <Time ns={line.gpu_idle_ns} />
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  );
}
