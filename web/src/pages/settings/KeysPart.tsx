// KeysPart.tsx - API keys. A new one is shown once, with lines to paste that name this server.
import { useState, type FormEvent } from "react";
import { client } from "../../api/client";
import type { RowKey } from "../../api/schema";
import { useAct, useApi } from "../../api/use";
import { date, epochMs, exactDate } from "../../format/format";
import { settings } from "../../text/settings";
import { Ask, Check, CopyButton, Field, Pick } from "../../ui/forms";
import { Command, Empty, Panel, ProblemView, Skeleton } from "../../ui/parts";
import { readWith, sendWith } from "./commands";
import { endAfter } from "./links";

const text = settings.keys;
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

function Row({ row, onRevoke }: { row: RowKey; onRevoke: () => void }) {
  const ended = row.expires !== null && (epochMs(row.expires) ?? 0) < Date.now();
  const off = row.revoked !== null || ended;
  return (
    <tr className={off ? "off" : ""}>
      <td className={off ? "strike wrap" : "wrap"}>{row.name}</td>
      <td className="mono">{row.prefix}…</td>
      <td>
        {scopesOf(row.scopes)
          .map((scope) => text.scope[scope])
          .join(", ")}
      </td>
      <td title={exactDate(row.created)}>{date(row.created)}</td>
      <td title={row.used ? exactDate(row.used) : undefined}>{row.used ? date(row.used) : text.neverUsed}</td>
      <td title={row.expires ? exactDate(row.expires) : undefined}>{row.expires ? `${date(row.expires)}${ended ? ` (${text.ended})` : ""}` : text.never}</td>
      <td className="right">
        {row.revoked ? (
          <span className="small">{text.revoked(date(row.revoked))}</span>
        ) : (
          <button type="button" className="button" onClick={onRevoke} aria-label={`${text.revoke} ${row.name}`}>
            {text.revoke}
          </button>
        )}
      </td>
    </tr>
  );
}

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
  const head = Object.values(text.columns);
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
          <div className="scroll-x" tabIndex={0} role="region" aria-label={settings.parts.keys}>
            <table className="simple roomy">
              <thead>
                <tr>
                  {head.map((label) => (
                    <th scope="col" key={label}>
                      {label}
                    </th>
                  ))}
                  <td />
                </tr>
              </thead>
              <tbody>
                {asked.data.rows.map((row) => (
                  <Row key={row.id} row={row} onRevoke={() => setLeaving(row)} />
                ))}
              </tbody>
            </table>
          </div>
        </Panel>
      )}
      {leaving && (
        <Ask danger title={text.revokeTitle(leaving.name)} action={text.revoke} busy={revoke.busy} onDo={() => void revoke.run(leaving.id)} onClose={() => setLeaving(undefined)}>
          <p>{text.revokeText}</p>
          {revoke.problem && (
            <p className="wrong" role="alert">
              {revoke.problem.message}
            </p>
          )}
        </Ask>
      )}
    </>
  );
}
