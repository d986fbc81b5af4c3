// KeysPart.tsx - API keys. A new key is shown once, with command lines for this server to paste.
import { useState, type FormEvent } from "react";
import { client } from "../../api/client";
import type { RowKey } from "../../api/schema";
import { useAct, useApi } from "../../api/use";
import { date, epochMs, exactDate } from "../../format/format";
import { settings } from "../../text/settings";
import { Ask, Check, CopyButton, Field, Pick } from "../../ui/forms";
import { dateColumn, Listing, type Column } from "../../ui/Listing";
import { Words } from "../../ui/Name";
import { Command, Empty, Panel, ProblemView, Skeleton } from "../../ui/parts";
import { readWith, sendWith } from "./commands";
import { endAfter } from "./links";

const text = settings.keys;
const head = text.columns;
const SCOPES = [
  ["ingest", 1],
  ["read", 2],
  ["admin", 4],
] as const;
type Scope = (typeof SCOPES)[number][0];
const ENDS = [0, 30, 90, 365];

export const scopesOf = (bits: number | null): Scope[] => SCOPES.filter(([, bit]) => (bits ?? 0) & bit).map(([name]) => name);

interface Made {
  key: string;
  scopes: Scope[];
}

function Make({ onMade }: { onMade: (made: Made) => void }) {
  const [scopes, setScopes] = useState<Scope[]>(["ingest"]);
  const [days, setDays] = useState("0");
  const [name, setName] = useState("");
  const make = useAct(async () => {
    const made = await client.change("key_make", {}, { name, scopes: scopes.join(","), expires: endAfter(Number(days), Date.now()) });
    setName("");
    onMade({ key: made.key ?? "", scopes });
  });
  function submit(event: FormEvent) {
    event.preventDefault();
    if (scopes.length) void make.run();
  }
  return (
    <Panel title={text.make}>
      <form className="panel-body stack" onSubmit={submit}>
        <div className="form-line">
          <Field name="name" label={text.name} hint={text.nameHint} value={name} onChange={setName} />
          <Pick label={text.expires} value={days} onChange={setDays} options={ENDS.map((d) => ({ value: String(d), label: d ? text.after(`${d} d`) : text.never }))} />
        </div>
        <fieldset className="plain">
          <legend className="small quiet">{text.scopes}</legend>
          {SCOPES.map(([scope]) => (
            <Check key={scope} label={text.scope[scope]!} checked={scopes.includes(scope)} onChange={(on) => setScopes((now) => (on ? [...now, scope] : now.filter((s) => s !== scope)))} />
          ))}
        </fieldset>
        {scopes.length === 0 && <p className="wrong">{text.pickScope}</p>}
        {make.problem && <ProblemView problem={make.problem} />}
        <div>
          <button type="submit" className="button button-main" disabled={make.busy || scopes.length === 0}>
            {text.make}
          </button>
        </div>
      </form>
    </Panel>
  );
}

function NewKey({ made, onDone }: { made: Made; onDone: () => void }) {
  const sends = made.scopes.some((scope) => scope !== "read");
  return (
    <section className="panel panel-body secret" role="status" aria-label={text.made}>
      <h2>{text.made}</h2>
      <p>{text.once}</p>
      <div className="row">
        <code className="secret-value" data-secret>
          {made.key}
        </code>
        <CopyButton text={made.key} label={text.copy} className="button button-main" />
      </div>
      <h3>{sends ? text.agent : text.check}</h3>
      {sends && <p className="quiet small">{text.agentText}</p>}
      <Command text={sends ? sendWith(location.origin, made.key) : readWith(location.origin, made.key)} />
      <div>
        <button type="button" className="button" onClick={onDone}>
          {text.done}
        </button>
      </div>
    </section>
  );
}

const ended = (row: RowKey): boolean => row.expires !== null && (epochMs(row.expires) ?? 0) < Date.now();
const off = (row: RowKey): boolean => row.revoked !== null || ended(row);

const columnsFor = (onRevoke: (row: RowKey) => void): Column<RowKey>[] => [
  { label: head.name, className: "strike wrap", show: (row) => <Words text={row.name} /> },
  { label: head.prefix, className: "mono", show: (row) => `${row.prefix}…` },
  {
    label: head.scopes,
    show: (row) =>
      scopesOf(row.scopes)
        .map((scope) => text.scope[scope])
        .join(", "),
  },
  dateColumn(head.created, (row) => row.created),
  { label: head.used, className: "number", title: (row) => (row.used ? exactDate(row.used) : undefined), show: (row) => (row.used ? date(row.used) : text.neverUsed) },
  { label: head.expires, className: "number", title: (row) => (row.expires ? exactDate(row.expires) : undefined), show: (row) => (row.expires ? `${date(row.expires)}${ended(row) ? ` (${text.ended})` : ""}` : text.never) },
  {
    label: "",
    className: "actions",
    show: (row) =>
      row.revoked ? (
        <span className="small">{text.revoked(date(row.revoked))}</span>
      ) : (
        <button type="button" className="button" onClick={() => onRevoke(row)} aria-label={`${text.revoke} ${row.name}`}>
          {text.revoke}
        </button>
      ),
  },
];

export function KeysPart() {
  const asked = useApi("keys", {});
  const [made, setMade] = useState<Made>();
  const [leaving, setLeaving] = useState<RowKey>();
  const revoke = useAct(async (key: string) => {
    await client.change("key_revoke", { key }, undefined);
    setLeaving(undefined);
    asked.again();
  });
  if (asked.problem && !asked.data) return <ProblemView problem={asked.problem} again={asked.again} />;
  if (!asked.data) return <Skeleton />;
  return (
    <>
      {made && <NewKey made={made} onDone={() => setMade(undefined)} />}
      <Make
        onMade={(now) => {
          setMade(now);
          asked.again();
        }}
      />
      {asked.data.rows.length === 0 ? (
        <Empty title={text.none} text={text.noneText} />
      ) : (
        <Panel title={settings.parts.keys!}>
          <Listing roomy label={settings.parts.keys!} columns={columnsFor(setLeaving)} rows={asked.data.rows} keyOf={(row) => row.id} rowClass={(row) => (off(row) ? "off" : undefined)} />
        </Panel>
      )}
      {leaving && (
        <Ask danger title={text.revokeTitle(leaving.name)} action={text.revoke} busy={revoke.busy} problem={revoke.problem} onDo={() => void revoke.run(leaving.id)} onClose={() => setLeaving(undefined)}>
          <p>{text.revokeText}</p>
        </Ask>
      )}
    </>
  );
}
