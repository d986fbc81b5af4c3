// RetentionPart.tsx - how long the workspace keeps its data. A lower limit deletes data, so that
// the page asks first.
import { useState } from "react";
import { client } from "../../api/client";
import { may } from "../../api/may";
import type { Me, RowRetention } from "../../api/schema";
import { useAct, useApi } from "../../api/use";
import { settings } from "../../text/settings";
import { Ask, Field } from "../../ui/forms";
import { Panel, ProblemView, Skeleton, Stats } from "../../ui/parts";
import { keepsLess, limitsOf, textsOf, type Limits, type LimitTexts } from "./retention";
import type { PartProps } from "./SettingsPage";

const text = settings.retention;
const FIELDS = [
  ["sessions", text.sessions, text.sessionsHint, text.days],
  ["bytes", text.bytes, text.bytesHint, text.gib],
  ["metrics", text.metrics, text.metricsHint, text.days],
] as const;

/** The fields of the limits. onChange: a limit's name and text. */
function LimitFields({ texts, onChange }: { texts: LimitTexts; onChange: (name: keyof LimitTexts, text: string) => void }) {
  return (
    <div className="form-line">
      {FIELDS.map(([name, label, hint, unit]) => (
        <Field key={name} name={name} label={label} hint={hint} unit={unit} empty={text.noLimit} optional value={texts[name]} onChange={(value) => onChange(name, value)} />
      ))}
    </div>
  );
}

function Editor({ row, onSaved }: { row: RowRetention; onSaved: () => void }) {
  const [texts, setTexts] = useState<LimitTexts>(() => textsOf(row));
  const [asking, setAsking] = useState<Limits>();
  const [saved, setSaved] = useState(false);
  const put = useAct(async (limits: Limits) => {
    await client.change("retention_put", {}, { ...limits });
    setAsking(undefined);
    setSaved(true);
    onSaved();
  });
  const limits = limitsOf(texts);
  const change = (name: keyof LimitTexts, value: string): void => {
    setSaved(false);
    setTexts((now) => ({ ...now, [name]: value }));
  };
  const before: Limits = { sessions: row.sessions ?? 0, bytes: row.bytes ?? 0, metrics: row.metrics ?? 0 };
  return (
    <Panel title={settings.parts.retention!}>
      <form
        className="panel-body stack"
        onSubmit={(event) => {
          event.preventDefault();
          if (!limits) return;
          if (keepsLess(before, limits)) setAsking(limits);
          else void put.run(limits);
        }}
      >
        <p className="quiet">
          {text.text} {text.forever}
        </p>
        <LimitFields texts={texts} onChange={change} />
        {!limits && (
          <p className="wrong" role="alert">
            {text.wrong}
          </p>
        )}
        {put.problem && <ProblemView problem={put.problem} />}
        <div className="row">
          <button type="submit" className="button button-main" disabled={!limits || put.busy}>
            {text.save}
          </button>
          <span role="status">{saved ? text.saved : ""}</span>
        </div>
      </form>
      {asking && (
        <Ask danger title={text.shorter} action={text.shorterDo} busy={put.busy} onDo={() => void put.run(asking)} onClose={() => setAsking(undefined)}>
          <p>{text.shorterText}</p>
        </Ask>
      )}
    </Panel>
  );
}

function Shown({ row, role }: { row: RowRetention; role: string }) {
  const texts = textsOf(row);
  return (
    <>
      <Stats items={FIELDS.map(([name, label, , unit]) => ({ label, value: texts[name] === "" ? text.noLimit : `${texts[name]} ${unit}` }))} />
      <p className="quiet">{settings.notYoursText(role)}</p>
    </>
  );
}

export function RetentionPart({ me }: PartProps) {
  const asked = useApi("retention", {});
  if (asked.problem && !asked.data) return <ProblemView problem={asked.problem} again={asked.again} />;
  if (!asked.data) return <Skeleton rows={3} />;
  return owner(me) ? <Editor row={asked.data} onSaved={asked.again} /> : <Shown row={asked.data} role={me.role ?? ""} />;
}

const owner = (me: Me) => may(me, "OWNER");
