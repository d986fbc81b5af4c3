// Exports.tsx - the session as files for other programs. They are plain links if the browser can
// send what the request needs; with a share link's token, which a plain link cannot send, the page
// fetches the file first.
import { client, type Answer, type Parameters, type RouteId } from "../../api/client";
import { rowsOf } from "../../api/columns";
import type { RowSession } from "../../api/schema";
import { useAct } from "../../api/use";
import { who } from "../../api/who";
import { Link } from "../../router/Link";
import { href, useQuery } from "../../router/router";
import { exports as text } from "../../text/exports";
import { sql } from "../../text/sql";
import { Pick } from "../../ui/forms";
import { Panel } from "../../ui/parts";

interface FileProps<R extends RouteId> {
  label: string;
  route: R;
  parameters: Parameters<R>;
  name: string;
}

function Download<R extends RouteId>({ label, route, parameters, name }: FileProps<R>) {
  const fetching = useAct(async () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(await client.file(route, parameters));
    link.download = name;
    link.click();
    URL.revokeObjectURL(link.href);
  });
  if (!who.link)
    return (
      <a className="button" href={client.urlOf(route, parameters)} download={name} aria-label={`${text.download} ${label}`}>
        {text.download}
      </a>
    );
  return (
    <span>
      <button type="button" className="button" disabled={fetching.busy} aria-label={`${text.download} ${label}`} onClick={() => void fetching.run()}>
        {fetching.busy ? text.preparing : text.download}
      </button>
      {fetching.problem && (
        <span className="wrong small" role="alert">
          {fetching.problem.message}
        </span>
      )}
    </span>
  );
}

/** counts: of the session's records; undefined: not here yet. */
export function Exports({ session: s, counts }: { session: RowSession; counts: Answer<"counts"> | undefined }) {
  const records = (counts ? rowsOf(counts) : []).flatMap((row) => (row.record && row.rows ? [row.record] : []));
  const [chosen, setChosen] = useQuery("record");
  const record = records.includes(chosen) ? chosen : (records.find((name) => name === "kernel") ?? records[0]);
  const hasStacks = records.includes("stack");
  const unknown = counts === undefined; // while it is unknown what the session has, its rows are already there, so that nothing moves
  const session = s.id;
  const file = `${(s.app || "session").replace(/[^0-9A-Za-z._-]+/g, "-")}-${s.id.slice(0, 8)}`;
  const row = (label: string, about: string, button: React.ReactNode) => (
    <>
      <div>
        <strong>{label}</strong>
        <p className="small quiet">{about}</p>
      </div>
      {button}
    </>
  );
  const later = (
    <button type="button" className="button" disabled>
      {text.download}
    </button>
  );
  const ofStacks = (download: React.ReactNode) => (hasStacks ? download : unknown ? later : <span className="small quiet">{text.noStacks}</span>);
  return (
    <Panel title={text.exports} aside={text.exportsText}>
      <div className="panel-body links-large">
        {row(text.trace, text.traceText, <Download label={text.trace} route="export_trace" parameters={{ session }} name={`${file}.trace.json`} />)}
        {row(text.ndjson, text.ndjsonText, <Download label={text.ndjson} route="export_ndjson" parameters={{ session }} name={`${file}.ndjson`} />)}
        {(record || unknown) &&
          row(
            text.parquet,
            text.parquetText,
            record ? (
              <div className="row">
                <Pick hide label={text.parquetRecord} value={record} options={records.map((value) => ({ value, label: value }))} onChange={setChosen} />
                <Download label={`${text.parquet} ${record}`} route="export_parquet" parameters={{ session, record }} name={`${file}.${record}.parquet`} />
              </div>
            ) : (
              later
            ),
          )}
        {s.analyzed && row(text.report, text.reportText, <Download label={text.report} route="report" parameters={{ session }} name={`${file}.report.json`} />)}
        {s.analyzed && row(text.pprof, text.pprofText, ofStacks(<Download label={text.pprof} route="export_pprof" parameters={{ session }} name={`${file}.pb`} />))}
        {s.analyzed && row(text.speedscope, text.speedscopeText, ofStacks(<Download label={text.speedscope} route="export_speedscope" parameters={{ session }} name={`${file}.speedscope.json`} />))}
        {s.analyzed && row(text.flame, text.flameText, ofStacks(<Download label={text.flame} route="flame" parameters={{ session }} name={`${file}.flame.txt`} />))}
        {!who.link &&
          row(
            text.sql,
            text.sqlText,
            <Link className="button" href={href("sql", {}, { sessions: session })} aria-label={sql.link}>
              {text.sql}
            </Link>,
          )}
      </div>
    </Panel>
  );
}
