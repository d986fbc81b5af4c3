// Captured.tsx - the ledger: what was launched, recorded and written, and what is missing and why;
// which engine was asked for, which ran instead and why; and messages that a person should know.
import type { ReactNode } from "react";
import { capabilitiesOf, enginesOf, isSet, ledgerOf, messagesOf, optionsOf, type Engine, type Message, type Option } from "../../api/report";
import type { Asked } from "../../api/use";
import { count } from "../../format/format";
import { useQuery } from "../../router/router";
import { captured as capturedText } from "../../text/captured";
import { raw as text } from "../../text/raw";
import { Listing, type Column } from "../../ui/Listing";
import { Panel, ProblemView, Skeleton } from "../../ui/parts";

/** A part that is folded until somebody opens it; the address says whether it is open. */
function Folded({ id, label, children }: { id: string; label: string; children: ReactNode }) {
  const [open, setOpen] = useQuery(id);
  return (
    <details className="small panel-body" open={open === "1"} onToggle={(event) => event.currentTarget.open !== (open === "1") && setOpen(event.currentTarget.open ? "1" : "")}>
      <summary>{label}</summary>
      {children}
    </details>
  );
}

function MessageList({ messages, within }: { messages: Message[]; within?: boolean }) {
  return (
    <ul className={within ? "links" : "links panel-body"}>
      {messages.map(({ severity, text: words, count: n }, at) => (
        <li key={at} className="wrap">
          {severity !== "note" && <strong className={severity === "error" ? "wrong" : "captured-lost"}>{capturedText.severities[severity]}:</strong>} {words} {n > 1 && <span className="quiet">{capturedText.times(count(n))}</span>}
        </li>
      ))}
    </ul>
  );
}

function Messages({ messages }: { messages: Message[] }) {
  const notes = messages.filter(({ severity }) => severity === "note");
  const worse = messages.filter(({ severity }) => severity !== "note");
  if (messages.length === 0) return null;
  return (
    <Panel title={capturedText.messages}>
      {worse.length > 0 && <MessageList messages={worse} />}
      {notes.length > 0 && (
        <Folded id="notes" label={capturedText.notes(count(notes.length))}>
          <MessageList messages={notes} within />
        </Folded>
      )}
    </Panel>
  );
}

/** Which engine ran in place of the engine that was asked for, and why. */
function Ran({ engine }: { engine: Engine }) {
  const same = engine.ranAs === engine.name;
  return (
    <p className="wrap">
      <span className={same ? "captured-good" : "captured-lost"}>{same ? capturedText.ran(engine.name) : capturedText.standIn(engine.name, engine.ranAs)}</span>
      {engine.why && `: ${engine.why}`}
    </p>
  );
}

function Engines({ engines }: { engines: Engine[] }) {
  const ran = engines.filter((engine) => engine.ranAs);
  const rows = engines.flatMap((engine) => engine.settings.map((setting) => ({ engine: engine.name, ...setting })));
  if (engines.length === 0) return null;
  return (
    <Panel title={capturedText.engines}>
      {ran.length > 0 && (
        <div className="panel-body stack">
          {ran.map((engine) => (
            <Ran key={engine.name} engine={engine} />
          ))}
        </div>
      )}
      {rows.length > 0 && <Listing label={capturedText.engines} columns={SETTINGS} rows={rows} keyOf={(_, at) => at} rowClass={(row, at) => (at > 0 && rows[at - 1]!.engine !== row.engine ? "part-begins" : undefined)} />}
    </Panel>
  );
}

const SETTINGS: Column<{ engine: string; name: string; values: string[] }>[] = [
  { label: capturedText.engine, show: (row) => row.engine },
  { label: capturedText.setting, className: "mono", show: (row) => row.name },
  { label: capturedText.value, className: "mono wrap", show: (row) => row.values.map((value, at) => <div key={at}>{value}</div>) },
];

const OPTIONS: Column<Option>[] = [
  { label: capturedText.option, className: "mono", show: (row) => row.name },
  { label: capturedText.value, className: "mono wrap", show: (row) => row.value },
  { label: capturedText.source, show: (row) => capturedText.sources[row.source] ?? row.source },
];

function Options({ options }: { options: Option[] }) {
  const set = options.filter(isSet);
  const rest = options.filter((option) => !isSet(option));
  if (options.length === 0) return null;
  return (
    <Panel title={capturedText.options}>
      {set.length > 0 ? <Listing label={capturedText.options} columns={OPTIONS} rows={set} keyOf={(_, at) => at} /> : <p className="panel-body quiet">{capturedText.optionsDefault}</p>}
      {rest.length > 0 && (
        <Folded id="defaults" label={capturedText.rest(count(rest.length))}>
          <Listing label={capturedText.rest(count(rest.length))} columns={OPTIONS.slice(0, 2)} rows={rest} keyOf={(_, at) => at} />
        </Folded>
      )}
    </Panel>
  );
}

/** asked: the ledger; children: the parts below, which wait for the ledger so that it does not
 * push them down. */
export function Captured({ asked, children }: { asked: Asked<unknown>; children: ReactNode }) {
  if (asked.problem && !asked.data)
    return (
      <>
        {children}
        <ProblemView problem={asked.problem} again={asked.again} />
      </>
    );
  if (!asked.data) return <Skeleton rows={10} />;
  const capabilities = capabilitiesOf(asked.data);
  const { verdict, missing } = ledgerOf(asked.data);
  const whole = verdict === "complete";
  return (
    <>
      <Messages messages={messagesOf(asked.data)} />
      <Panel title={text.ledger}>
        <div className="panel-body stack">
          <p>
            <span className={whole ? "chip chip-good" : "chip chip-warn"}>{verdict}</span> {text.verdicts[verdict] ?? ""}
          </p>
          {missing.map((sentence) => (
            <p key={sentence}>{sentence}</p>
          ))}
        </div>
        {capabilities.length > 0 && (
          <table className="simple">
            <thead>
              <tr>
                <th scope="col">{text.feature}</th>
                <th scope="col">{text.status}</th>
              </tr>
            </thead>
            <tbody>
              {capabilities.map((row) => (
                <tr key={row.feature}>
                  <td className="mono">{row.feature}</td>
                  <td className="wrap">
                    {capturedText.statuses[row.status] ?? row.status}
                    {row.reason && <span className="quiet small">: {row.reason}</span>}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </Panel>
      <Engines engines={enginesOf(asked.data)} />
      <Options options={optionsOf(asked.data)} />
      {children}
    </>
  );
}
