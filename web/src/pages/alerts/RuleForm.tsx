// RuleForm.tsx - the form that makes or changes a rule.
import { useState } from "react";
import { client } from "../../api/client";
import { RULES } from "../../api/rules";
import type { RowAlert } from "../../api/schema";
import { useAct } from "../../api/use";
import { alerts } from "../../text/alerts";
import { en } from "../../text/en";
import { Ask, Check, Field, Pick } from "../../ui/forms";
import { bodyOf, draftOf, METRICS, newDraft, withKind, withMetric, type Draft } from "./rules";

const text = alerts.fields;
const SECRET_LEAST = 16;

export function RuleForm({ row, onClose, onDone }: { row: RowAlert | null; onClose: () => void; onDone: () => void }) {
  const [draft, setDraft] = useState<Draft>(() => (row ? draftOf(row) : newDraft()));
  const set = <K extends keyof Draft>(key: K) => (value: Draft[K]) => setDraft((now) => ({ ...now, [key]: value }));
  const body = bodyOf(draft);
  const save = useAct(async () => {
    if (!body) return;
    if (row) await client.change("alert_put", { alert: row.id }, body);
    else await client.change("alert_make", {}, body);
    onDone();
  });
  const metrics = Object.keys(METRICS);
  if (!metrics.includes(draft.metric)) metrics.push(draft.metric);
  const unit = METRICS[draft.metric]?.unit;
  const letters = new TextEncoder().encode(draft.secret).length; // the server counts bytes
  const short = letters > 0 && letters < SECRET_LEAST;
  return (
    <Ask title={row ? alerts.editTitle(row.name) : alerts.make} action={en.forms.save} busy={save.busy} disabled={!body || !draft.name || short} onDo={() => void save.run()} onClose={onClose}>
      <div className="rule-form">
        <Field name="name" label={text.name} value={draft.name} onChange={set("name")} />
        <Pick label={text.kind} value={draft.kind} onChange={(kind) => setDraft((now) => withKind(now, kind as Draft["kind"]))} options={[{ value: "metric", label: text.kinds.metric }, { value: "insight", label: text.kinds.insight }]} />
        {draft.kind === "metric" ? (
          <>
            <Pick label={text.metric} value={draft.metric} onChange={(metric) => setDraft((now) => withMetric(now, metric))} options={metrics.map((value) => ({ value, label: alerts.metrics[value] ?? value }))} />
            <Pick label={text.above} value={String(draft.above)} onChange={(above) => set("above")(above === "true")} options={[{ value: "true", label: text.aboves.true }, { value: "false", label: text.aboves.false }]} />
          </>
        ) : (
          <Pick label={text.rule} value={draft.rule} onChange={set("rule")} options={[{ value: "", label: text.anyRule }, ...Object.keys(RULES).map((value) => ({ value, label: value }))]} />
        )}
        <Field name="threshold" label={draft.kind === "insight" ? text.share : `${text.threshold}${unit ? `, ${unit}` : ""}`} value={draft.threshold} onChange={set("threshold")} />
        <Field name="hold" label={text.hold} value={draft.hold} onChange={set("hold")} />
        <Field name="host" label={text.host} optional value={draft.host} onChange={set("host")} />
        <Field name="app" label={text.app} optional value={draft.app} onChange={set("app")} />
        <Field name="url" label={text.url} type="url" optional hint={text.urlHint} value={draft.url} onChange={set("url")} />
        <Field name="secret" label={text.secret} type="password" complete="new-password" optional hint={row ? text.secretKept : text.secretHint} value={draft.secret} onChange={set("secret")} />
      </div>
      <Check label={alerts.enabled} checked={draft.enabled} onChange={set("enabled")} />
      {short && (
        <p className="wrong" role="status">
          {text.secretShort(String(letters))}
        </p>
      )}
      {save.problem && (
        <p className="wrong" role="alert">
          {save.problem.message}
        </p>
      )}
    </Ask>
  );
}
