// AlertsPage.tsx - the alerts that hold now, the rules, past alerts, and the deliveries of
// messages.
import { useEffect, useState } from "react";
import { client, type Answer } from "../../api/client";
import type { LiveEvent } from "../../api/live";
import { may, useMe } from "../../api/may";
import type { RowAlert, RowDelivery, RowFiringNow } from "../../api/schema";
import { useAct, useApi, type Asked } from "../../api/use";
import { sentence } from "../../format/format";
import { useQuery } from "../../router/router";
import { alerts as text } from "../../text/alerts";
import { en } from "../../text/en";
import { Ask } from "../../ui/forms";
import { dateColumn, Listing, type Column } from "../../ui/Listing";
import { Words } from "../../ui/Name";
import { Empty, Panel, ProblemView, Skeleton } from "../../ui/parts";
import { FRESH as ON_FLEET, useNow } from "../fleet/fresh";
import "./alerts.css";
import { quietText, unknownText } from "./known";
import { conditionOf } from "./rules";
import { RuleForm } from "./RuleForm";

const FRESH = { every: 10_000, on: (event: LiveEvent) => event.name === "alert" || event.name === "lost" };
type Rules_ = Answer<"alerts">;
const TONES: Record<string, string> = { firing: "chip chip-live", pending: "chip chip-warn", failed: "chip chip-warn", sent: "chip chip-good" };

const FIRING: Column<RowFiringNow>[] = [
  { label: text.historyColumns.state, show: (row) => <span className={TONES[row.state] ?? "chip"}>{text.states[row.state] ?? row.state}</span> },
  { label: text.historyColumns.name, className: "wrap", show: (row) => <Words text={row.name} /> },
  { label: text.historyColumns.text, className: "wrap", show: (row) => sentence(row.text) },
  dateColumn(text.historyColumns.since, (row) => row.started),
  dateColumn(text.historyColumns.ended, (row) => row.ended),
];

const Firings = ({ rows }: { rows: readonly RowFiringNow[] }) => <Listing label={text.history} columns={FIRING} rows={rows} keyOf={(row) => row.id} />;

const DELIVERY: Column<RowDelivery>[] = [
  dateColumn(text.deliveryColumns.created, (row) => row.created),
  { label: text.deliveryColumns.url, className: "wrap mono small", show: (row) => <Words text={row.url} /> },
  { label: text.deliveryColumns.state, show: (row) => <span className={TONES[row.state] ?? "chip"}>{text.deliveryStates[row.state] ?? row.state}</span> },
  { label: text.deliveryColumns.attempts, show: (row) => row.attempts },
  { label: text.deliveryColumns.answer, className: "wrap", show: (row) => row.error || (row.status ? String(row.status) : "") },
  dateColumn(text.deliveryColumns.next, (row) => (row.state === "waiting" ? row.next : null)),
];

function Now({ rules }: { rules: Asked<Rules_> }) {
  const asked = useApi("firings_open", {}, FRESH);
  const hosts = useApi("hosts", {}, ON_FLEET);
  const gpus = useApi("gpus", {}, ON_FLEET);
  const now = useNow(hosts.data, gpus.data);
  const all = [asked, rules, hosts, gpus];
  const failed = all.find(({ problem, data }) => problem && !data);
  if (failed) return <Panel title={text.now}><ProblemView problem={failed.problem!} again={() => all.forEach(({ again }) => again())} /></Panel>;
  if (!asked.data || !rules.data || !hosts.data || !gpus.data) return <Panel title={text.now}><Skeleton rows={2} /></Panel>;
  const watched = [...hosts.data.rows, ...gpus.data.rows];
  const firing = asked.data.rows.length > 0;
  const said = firing ? unknownText(rules.data.rows, watched, now) : quietText(rules.data.rows, watched, now);
  return (
    <Panel title={text.now}>
      {said && <p className="panel-body quiet">{said}</p>}
      {firing && <Firings rows={asked.data.rows} />}
    </Panel>
  );
}

function History() {
  const asked = useApi("firings", { limit: 100 }, FRESH);
  return (
    <Panel title={text.history}>
      {asked.problem && !asked.data && <ProblemView problem={asked.problem} again={asked.again} />}
      {asked.data && (asked.data.rows.length === 0 ? <p className="panel-body quiet">{text.historyNone}</p> : <Firings rows={asked.data.rows} />)}
    </Panel>
  );
}

function Deliveries({ tested }: { tested: number }) {
  const asked = useApi("deliveries", { limit: 50 }, { ...FRESH, every: 3000 });
  const { again } = asked;
  useEffect(() => {
    if (tested) again();
  }, [tested, again]);
  const rows = asked.data?.rows ?? [];
  return (
    <Panel title={text.deliveries}>
      {asked.problem && !asked.data && <ProblemView problem={asked.problem} again={asked.again} />}
      {asked.data && rows.length === 0 && <p className="panel-body quiet">{text.deliveriesNone}</p>}
      {rows.length > 0 && <Listing label={text.deliveries} columns={DELIVERY} rows={rows} keyOf={(row) => row.id} />}
    </Panel>
  );
}

function Remove({ row, onClose, onDone }: { row: RowAlert; onClose: () => void; onDone: () => void }) {
  const remove = useAct(async () => {
    await client.change("alert_delete", { alert: row.id }, undefined);
    onDone();
  });
  return (
    <Ask danger title={text.removeTitle(row.name)} action={text.remove} busy={remove.busy} problem={remove.problem} onDo={() => void remove.run()} onClose={onClose}>
      <p>{text.removeText}</p>
    </Ask>
  );
}

function RuleActions({ row, busy, onTest, onEdit, onLeave }: { row: RowAlert; busy: boolean; onTest: () => void; onEdit: () => void; onLeave: () => void }) {
  return (
    <span className="row rule-actions">
      {row.url && (
        <button type="button" className="button" disabled={busy} aria-label={`${text.test} ${row.name}`} onClick={onTest}>
          {text.test}
        </button>
      )}
      <button type="button" className="button" aria-label={`${text.edit} ${row.name}`} onClick={onEdit}>
        {text.edit}
      </button>
      <button type="button" className="button" aria-label={`${text.remove} ${row.name}`} onClick={onLeave}>
        {text.remove}
      </button>
    </span>
  );
}

const aboutOf = ({ host, app }: RowAlert) => (
  <>
    {host && <Words text={host} />}
    {host && app && ", "}
    {app && <Words text={app} />}
    {!host && !app && text.everywhere}
  </>
);

function Rules({ asked, writes, onTested }: { asked: Asked<Rules_>; writes: boolean; onTested: () => void }) {
  const [edited, setEdited] = useQuery("edit"); // the id of a rule, or "new"
  const [leaving, setLeaving] = useState<RowAlert>();
  const [said, setSaid] = useState("");
  const test = useAct(async (alert: string) => {
    await client.change("alert_test", { alert }, undefined);
    setSaid(text.tested);
    onTested();
  });
  const done = () => {
    setEdited("");
    setLeaving(undefined);
    asked.again();
  };
  if (asked.problem && !asked.data) return <ProblemView problem={asked.problem} again={asked.again} />;
  if (!asked.data) return <Skeleton rows={3} />;
  const editing = asked.data.rows.find((row) => row.id === edited);
  const make = writes && (
    <button type="button" className="button button-main" onClick={() => setEdited("new")}>
      {text.make}
    </button>
  );
  const columns: Column<RowAlert>[] = [
    { label: text.columns.name, className: "wrap", show: (row) => <Words text={row.name} /> },
    { label: text.columns.condition, className: "wrap", show: conditionOf },
    { label: text.columns.of, className: "wrap", show: aboutOf },
    { label: text.columns.url, className: "wrap mono small", show: (row) => (row.url ? <Words text={row.url} /> : <span className="quiet">{text.nobody}</span>) },
    { label: text.columns.state, show: (row) => (row.enabled ? text.on : text.off) },
    ...(writes ? [{ label: "", show: (row: RowAlert) => <RuleActions row={row} busy={test.busy} onTest={() => void test.run(row.id)} onEdit={() => setEdited(row.id)} onLeave={() => setLeaving(row)} /> }] : []),
  ];
  return (
    <>
      {asked.data.rows.length === 0 ? (
        <Empty title={text.rulesNone} text={text.rulesNoneText}>
          {make}
        </Empty>
      ) : (
        <Panel title={text.rules} aside={make}>
          <Listing roomy label={text.rules} columns={columns} rows={asked.data.rows} keyOf={(row) => row.id} rowClass={(row) => (row.enabled ? undefined : "quiet")} />
        </Panel>
      )}
      {said && <p role="status">{said}</p>}
      {test.problem && <ProblemView problem={test.problem} />}
      {writes && (edited === "new" || editing) && <RuleForm key={edited} row={editing ?? null} onClose={() => setEdited("")} onDone={done} />}
      {leaving && <Remove row={leaving} onClose={() => setLeaving(undefined)} onDone={done} />}
    </>
  );
}

export function AlertsPage() {
  const me = useMe();
  const [tested, setTested] = useState(0);
  const rules = useApi("alerts", {}, FRESH);
  const writes = may(me, "WRITE");
  useEffect(() => {
    document.title = `${text.title} · ${en.product}`;
  }, []);
  return (
    <div className="stack">
      <h1>{text.title}</h1>
      <Now rules={rules} />
      <Rules asked={rules} writes={writes} onTested={() => setTested((n) => n + 1)} />
      <History />
      {writes && <Deliveries tested={tested} />}
    </div>
  );
}
