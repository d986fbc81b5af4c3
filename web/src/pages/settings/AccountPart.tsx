// AccountPart.tsx - the user's own password.
import { useState } from "react";
import { client } from "../../api/client";
import { useAct } from "../../api/use";
import { who } from "../../api/who";
import { join, login } from "../../text/login";
import { settings } from "../../text/settings";
import { Field } from "../../ui/forms";
import { Empty, Panel, ProblemView } from "../../ui/parts";
import type { PartProps } from "./SettingsPage";

const text = settings.account;

export function AccountPart({ me }: PartProps) {
  const [fields, setFields] = useState({ old: "", password: "" });
  const [done, setDone] = useState(false);
  const change = useAct(async () => {
    await client.change("password", {}, fields);
    who.csrf = "";
    setFields({ old: "", password: "" });
    setDone(true);
  });
  if (me.local || me.kind !== "user") return <Empty title={settings.parts.account!} text={me.local ? text.local : text.key} />;
  const set = (name: "old" | "password") => (value: string) => {
    setDone(false);
    setFields((now) => ({ ...now, [name]: value }));
  };
  return (
    <Panel title={settings.parts.account!} aside={me.name}>
      <form
        className="panel-body stack"
        onSubmit={(event) => {
          event.preventDefault();
          void change.run();
        }}
      >
        <input className="hidden-label" type="email" autoComplete="username" value={me.name ?? ""} readOnly aria-label={text.address} tabIndex={-1} />
        <div className="form-line">
          <Field name="old" label={text.old} type="password" complete="current-password" value={fields.old} onChange={set("old")} />
          <Field name="password" label={text.new} type="password" complete="new-password" hint={join.passwordHint} value={fields.password} onChange={set("password")} />
        </div>
        <p className="small quiet">{text.text}</p>
        {change.problem && <ProblemView problem={{ status: -1, title: login.failed, message: change.problem.status === 401 ? text.wrong : change.problem.message, request: change.problem.request }} />}
        <div className="row">
          <button type="submit" className="button button-main" disabled={change.busy}>
            {text.change}
          </button>
          <span role="status">{done ? text.changed : ""}</span>
        </div>
      </form>
    </Panel>
  );
}
