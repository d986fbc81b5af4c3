// RawTab.tsx - what was asked for and what was captured, and the received data itself: counts by
// record, the session's own row, the kept source files, and the addresses where programs get these
// data.
import { client, type Answer } from "../../api/client";
import { rowsOf } from "../../api/columns";
import type { RowSession } from "../../api/schema";
import { useApi, type Asked } from "../../api/use";
import { bytes, exact, exactDate, grouped } from "../../format/format";
import { en } from "../../text/en";
import { raw as text } from "../../text/raw";
import { Panel, ProblemView, Skeleton } from "../../ui/parts";
import type { TabProps } from "../session/tabs";
import { Captured } from "./Captured";
import { Exports } from "./Exports";

function facts(s: RowSession): [string, string][] {
  const f = text.facts;
  return [
    [f.id!, s.id],
    [f.app!, s.app],
    [f.host!, s.host],
    [f.account!, s.account],
    [f.pid!, String(s.pid ?? "")],
    [f.engine!, s.engine],
    [f.format!, s.format],
    [f.client!, s.client && text.product(s.client)],
    [f.started!, exactDate(s.started)],
    [f.ended!, s.ended ? exactDate(s.ended) : s.state === "live" ? "–" : ""],
    [f.received!, exactDate(s.received)],
    [f.bytes!, s.bytes === null ? "" : text.size(bytes(s.bytes), exact(s.bytes, "bytes"))],
  ].map(([label, value]) => [label!, value || en.session.unknown]);
}

function Counts({ asked }: { asked: Asked<Answer<"counts">> }) {
  if (asked.problem && !asked.data) return <ProblemView problem={asked.problem} again={asked.again} />;
  if (!asked.data) return <Skeleton />;
  return (
    <Panel title={text.counts}>
      <table className="simple">
        <thead>
          <tr>
            <th scope="col">{text.record}</th>
            <th scope="col" className="right">
              {text.rows}
            </th>
          </tr>
        </thead>
        <tbody>
          {rowsOf(asked.data).map((row) => (
            <tr key={row.record}>
              <td className="mono">{row.record}</td>
              <td className="right">{grouped(row.rows ?? 0)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Panel>
  );
}

function Sources({ session }: { session: string }) {
  const asked = useApi("sources", { session });
  if (asked.problem && !asked.data) return <ProblemView problem={asked.problem} again={asked.again} />;
  return (
    <Panel title={text.sources}>
      {asked.data && asked.data.rows === 0 && <p className="panel-body quiet">{text.noSources}</p>}
      <table className="simple">
        <tbody>
          {(asked.data ? rowsOf(asked.data) : []).map((row) => (
            <tr key={row.path}>
              <td className="mono wrap">{row.path}</td>
              <td className="right" title={exact(row.size, "bytes")}>
                {bytes(row.size)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Panel>
  );
}

export function RawTab({ session, ledger }: TabProps) {
  const id = { session: session.id };
  const counts = useApi("counts", id);
  const early = useApi("section_ledger", session.analyzed ? null : id); // a live session may have a report already
  const links = [client.urlOf("session", id), client.urlOf("session_findings", id), client.urlOf("kernels", { ...id, limit: 10000 }), client.urlOf("counts", id), client.urlOf("lanes", id)];
  return (
    <div className="ways">
      <div className="stack">
        <Captured asked={session.analyzed ? ledger : early}>
          <Counts asked={counts} />
        </Captured>
      </div>
      <div className="stack">
        <Exports session={session} counts={counts.data} />
        <Panel title={text.identity}>
          <table className="simple">
            <tbody>
              {facts(session).map(([label, value]) => (
                <tr key={label}>
                  <th scope="row">{label}</th>
                  <td className="mono wrap">{value}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Panel>
        <Sources session={session.id} />
        <Panel title={text.answers} aside={text.answersText}>
          <ul className="panel-body links">
            {links.map((to) => (
              <li key={to}>
                <a className="mono wrap small" href={to}>
                  {to}
                </a>
              </li>
            ))}
          </ul>
        </Panel>
      </div>
    </div>
  );
}
