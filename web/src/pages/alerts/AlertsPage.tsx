// AlertsPage.tsx - what holds now, the rules that watch, what fired, and how posts went.
import { useEffect, useState } from "react";
import { client } from "../../api/client";
import type { LiveEvent } from "../../api/live";
import { may, useMe } from "../../api/may";
import type { RowAlert, RowFiringNow } from "../../api/schema";
import { useAct, useApi } from "../../api/use";
import { date, exactDate } from "../../format/format";
import { alerts as text } from "../../text/alerts";
import { en } from "../../text/en";
import { Ask } from "../../ui/forms";
import { Empty, Panel, ProblemView, Skeleton } from "../../ui/parts";
import "./alerts.css";
import { conditionOf } from "./rules";
import { RuleForm } from "./RuleForm";

const FRESH = { every: 10_000, on: (event: LiveEvent) => event.name === "alert" || event.name === "lost" };
const TONES: Record<string, string> = { firing: "chip chip-live", pending: "chip chip-warn", failed: "chip chip-warn", sent: "chip chip-good" };

function Head({ labels, extra }: { labels: Record<string, string>; extra?: boolean }) {
  return (
    <thead>
      <tr>
        {Object.values(labels).map((label) => (
          <th scope="col" key={label}>
            {label}
          </th>
        ))}
        {extra && <td />}
      </tr>
    </thead>
  );
}

function Firings({ rows }: { rows: readonly RowFiringNow[] }) {
  return (
    <div className="scroll-x" tabIndex={0} role="region" aria-label={text.history}>
      <table className="simple">
        <Head labels={text.historyColumns} />
        <tbody>
          {rows.map((row) => (
            <tr key={row.id}>
              <td>
                <span className={TONES[row.state] ?? "chip"}>{text.states[row.state] ?? row.state}</span>
              </td>
              <td className="wrap">{row.name}</td>
              <td className="wrap">{row.text}</td>
              <td title={exactDate(row.started)}>{date(row.started)}</td>
              <td title={row.ended ? exactDate(row.ended) : undefined}>{row.ended ? date(row.ended) : ""}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Now() {
  const asked = useApi("firings_open", {}, FRESH);
  return (
    <Panel title={text.now}>
      {asked.problem && !asked.data && <ProblemView problem={asked.problem} again={asked.again} />}
      {!asked.data ? <Skeleton rows={2} /> : asked.data.rows.length === 0 ? <p className="panel-body quiet">{text.nowNone}</p> : <Firings rows={asked.data.rows} />}
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
      {rows.length > 0 && (
        <div className="scroll-x" tabIndex={0} role="region" aria-label={text.deliveries}>
          <table className="simple">
            <Head labels={text.deliveryColumns} />
            <tbody>
              {rows.map((row) => (
                <tr key={row.id}>
                  <td title={exactDate(row.created)}>{date(row.created)}</td>
                  <td className="wrap mono small">{row.url}</td>
                  <td>
                    <span className={TONES[row.state] ?? "chip"}>{text.deliveryStates[row.state] ?? row.state}</span>
                  </td>
                  <td>{row.attempts}</td>
                  <td className="wrap">{row.error || (row.status ? String(row.status) : "")}</td>
                  <td>{row.state === "waiting" ? date(row.next) : ""}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Panel>
  );
}

function Remove({ row, onClose, onDone }: { row: RowAlert; onClose: () => void; onDone: () => void }) {
  const remove = useAct(async () => {
    await client.change("alert_delete", { alert: row.id }, undefined);
    onDone();
  });
  return (
    <Ask danger title={text.removeTitle(row.name)} action={text.remove} busy={remove.busy} onDo={() => void remove.run()} onClose={onClose}>
      <p>{text.removeText}</p>
      {remove.problem && (
        <p className="wrong" role="alert">
          {remove.problem.message}
        </p>
      )}
    </Ask>
  );
}

function Rules({ writes, onTested }: { writes: boolean; onTested: () => void }) {
  const asked = useApi("alerts", {}, FRESH);
  const [editing, setEditing] = useState<RowAlert | "new">();
  const [leaving, setLeaving] = useState<RowAlert>();
  const [said, setSaid] = useState("");
  const test = useAct(async (alert: string) => {
    await client.change("alert_test", { alert }, undefined);
    setSaid(text.tested);
    onTested();
  });
  const done = () => {
    setEditing(undefined);
    setLeaving(undefined);
    asked.again();
  };
  if (asked.problem && !asked.data) return <ProblemView problem={asked.problem} again={asked.again} />;
  if (!asked.data) return <Skeleton rows={3} />;
  const make = writes && (
    <button type="button" className="button button-main" onClick={() => setEditing("new")}>
      {text.make}
    </button>
  );
  return (
    <>
      {asked.data.rows.length === 0 ? (
        <Empty title={text.rulesNone} text={text.rulesNoneText}>
          {make}
        </Empty>
      ) : (
        <Panel title={text.rules} aside={make}>
          <div className="scroll-x" tabIndex={0} role="region" aria-label={text.rules}>
            <table className="simple roomy">
              <Head labels={text.columns} extra={writes} />
              <tbody>
                {asked.data.rows.map((row) => (
                  <tr key={row.id} className={row.enabled ? "" : "quiet"}>
                    <td className="wrap">{row.name}</td>
                    <td className="wrap">{conditionOf(row)}</td>
                    <td className="wrap">{[row.host, row.app].filter(Boolean).join(", ") || text.everywhere}</td>
                    <td className="wrap mono small">{row.url}</td>
                    <td>{row.enabled ? text.on : text.off}</td>
                    {writes && (
                      <td>
                        <span className="row rule-actions">
                          {row.url && (
                            <button type="button" className="button" disabled={test.busy} aria-label={`${text.test} ${row.name}`} onClick={() => void test.run(row.id)}>
                              {text.test}
                            </button>
                          )}
                          <button type="button" className="button" aria-label={`${text.edit} ${row.name}`} onClick={() => setEditing(row)}>
                            {text.edit}
                          </button>
                          <button type="button" className="button" aria-label={`${text.remove} ${row.name}`} onClick={() => setLeaving(row)}>
                            {text.remove}
                          </button>
                        </span>
                      </td>
                    )}
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </Panel>
      )}
      {said && <p role="status">{said}</p>}
      {test.problem && <ProblemView problem={test.problem} />}
      {editing && <RuleForm row={editing === "new" ? null : editing} onClose={() => setEditing(undefined)} onDone={done} />}
      {leaving && <Remove row={leaving} onClose={() => setLeaving(undefined)} onDone={done} />}
    </>
  );
}

export function AlertsPage() {
  const me = useMe();
  const [tested, setTested] = useState(0);
  const writes = may(me, "WRITE");
  useEffect(() => {
    document.title = `${text.title} · ${en.product}`;
  }, []);
  return (
    <div className="stack">
      <h1>{text.title}</h1>
      <Now />
      <Rules writes={writes} onTested={() => setTested((n) => n + 1)} />
      <History />
      {writes && <Deliveries tested={tested} />}
    </div>
  );
}
