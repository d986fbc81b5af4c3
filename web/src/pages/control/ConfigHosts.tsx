// ConfigHosts.tsx - which host uses which configuration, and which versions its running sessions
// took.
import { client } from "../../api/client";
import type { RowNamedConfig } from "../../api/schema";
import { onSession, useAct, useApi } from "../../api/use";
import { epochMs, exactDate } from "../../format/format";
import { Link } from "../../router/Link";
import { href } from "../../router/router";
import { configHosts as text } from "../../text/control";
import { Pick } from "../../ui/forms";
import { Listing, type Column } from "../../ui/Listing";
import { Words } from "../../ui/Name";
import { Command, Panel, ProblemView, Skeleton } from "../../ui/parts";
import { useNow } from "../fleet/fresh";
import { seenText } from "../fleet/GpuCard";
import { hostsOf, type HostRow, type Run } from "./configs";

const SHOWN = 500;
const SILENT_MS = 60_000;
const FRESH = { every: 10_000, on: onSession() };
const EXAMPLE = "GPUFL_REMOTE_CONFIG=@host gpufl trace -- python3 train.py";

function Agent({ row, now }: { row: HostRow; now: number }) {
  const { agent } = row;
  if (!agent?.seen) return <span className="quiet">{text.noAgent}</span>;
  const silent = now - (epochMs(agent.seen) ?? 0) > SILENT_MS;
  const ago = seenText(agent.seen, now);
  return (
    <span title={exactDate(agent.seen)}>
      {text.version(agent.version)}, {silent ? <strong>{text.silent(ago)}</strong> : text.seen(ago)}
    </span>
  );
}

function Runs({ row }: { row: HostRow }) {
  if (row.runs.length === 0) return <span className="quiet">{text.runsNone}</span>;
  const mark = ({ newest, version }: Run) => (newest === null ? text.gone : newest > version ? text.old(newest) : "");
  return (
    <ul className="config-changes">
      {row.runs.map((run) => (
        <li key={`${run.name} ${run.version}`}>
          <Link href={href("sessions", {}, { state: "live", host: row.host, label: `config=${run.name}, version ${run.version}` })}>{text.runs(run.name, run.version, run.sessions)}</Link> {mark(run) && <span className="chip chip-warn">{mark(run)}</span>}
        </li>
      ))}
    </ul>
  );
}

export function ConfigHosts({ configs, writes }: { configs: readonly RowNamedConfig[]; writes: boolean }) {
  const agents = useApi("agents", {}, 10_000);
  const assigned = useApi("host_configs", {}, 10_000);
  const sessions = useApi("sessions", { state: "live", label: "config", limit: SHOWN }, FRESH);
  const now = useNow(agents.data);
  const assign = useAct(async (host: string, config: string) => {
    if (config) await client.change("host_config_put", { host }, { config });
    else await client.change("host_config_delete", { host }, undefined);
    assigned.again();
  });
  const problem = [agents, assigned, sessions].find((asked) => asked.problem && !asked.data);
  if (problem?.problem) return <ProblemView problem={problem.problem} again={problem.again} />;
  if (!agents.data || !assigned.data || !sessions.data) return <Skeleton rows={3} />;
  const rows = hostsOf(agents.data.rows, assigned.data.rows, sessions.data.rows, configs);
  const choices = (uses: string) => [{ value: "", label: text.nothing }, ...[...new Set([...(uses ? [uses] : []), ...configs.map(({ id }) => id)])].sort().map((id) => ({ value: id, label: id }))];
  const columns: Column<HostRow>[] = [
    { label: text.columns.host, className: "wrap", show: (row) => <Link href={href("host", { host: row.host })}><Words text={row.host} /></Link> },
    { label: text.columns.agent, className: "wrap", show: (row) => <Agent row={row} now={now} /> },
    {
      label: text.columns.uses,
      className: "wrap",
      title: (row) => (row.assigned ? `${row.assigned.author}, ${exactDate(row.assigned.created)}` : undefined),
      show: (row) => (writes ? <Pick hide label={text.usesOf(row.host)} value={row.uses} options={choices(row.uses)} onChange={(config) => void assign.run(row.host, config)} /> : row.uses ? <Words text={row.uses} /> : <span className="quiet">{text.nothing}</span>),
    },
    { label: text.columns.runs, className: "wrap", show: (row) => <Runs row={row} /> },
  ];
  return (
    <Panel title={text.title}>
      <p className="panel-body quiet small">{text.text}</p>
      {assign.problem && (
        <p className="panel-body wrong" role="alert">
          {assign.problem.message}
        </p>
      )}
      {rows.length === 0 ? <p className="panel-body">{text.none}</p> : <Listing roomy label={text.title} columns={columns} rows={rows} keyOf={(row) => row.host} />}
      {sessions.data.next && <p className="panel-body quiet small">{text.more}</p>}
      <div className="panel-body stack-tight">
        <h3>{text.how}</h3>
        <Command text={EXAMPLE} />
      </div>
    </Panel>
  );
}
