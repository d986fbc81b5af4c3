// LoginPage.tsx - who may come in: log in, and the first account from the link that the server
// printed (/setup#token=…: what is behind # never leaves the browser by itself).
import { useState, type FormEvent, type ReactNode } from "react";
import { client, Problem } from "../../api/client";
import { go, usePlace } from "../../router/router";
import { en } from "../../text/en";
import { Panel, ProblemView } from "../../ui/parts";
import { safeNext } from "./next";

type Fields = Record<string, string>;

function Form({ title, submit, send, children }: { title: string; submit: string; send: (fields: Fields) => Promise<unknown>; children: ReactNode }) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem>();
  const { query } = usePlace();
  function submitted(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const fields: Fields = {};
    new FormData(event.currentTarget).forEach((value, name) => (fields[name] = String(value)));
    setBusy(true);
    send(fields).then(
      () => go(safeNext(query.get("next"))),
      (cause: unknown) => {
        setBusy(false);
        setProblem(cause instanceof Problem ? cause : new Problem(0, en.login.failed, String(cause)));
      },
    );
  }
  return (
    <div className="login stack">
      <h1>{title}</h1>
      <Panel>
        <form className="panel-body stack" onSubmit={submitted}>
          {children}
          <button className="button button-main" type="submit" disabled={busy}>
            {submit}
          </button>
        </form>
      </Panel>
      {problem && <ProblemView problem={{ status: 0, title: en.login.failed, message: problem.message, request: problem.request }} />}
    </div>
  );
}

function Field({ name, label, type = "text", complete }: { name: string; label: string; type?: string; complete: string }) {
  return (
    <label className="stack-tight">
      <span className="small quiet">{label}</span>
      <input className="field" name={name} type={type} required autoComplete={complete} />
    </label>
  );
}

export function LoginPage() {
  return (
    <Form title={en.login.title} submit={en.login.submit} send={({ email = "", password = "" }) => client.post("login", {}, { email, password })}>
      <Field name="email" label={en.login.email} type="email" complete="username" />
      <Field name="password" label={en.login.password} type="password" complete="current-password" />
    </Form>
  );
}

export function SetupPage() {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (!token) return <ProblemView problem={{ status: 0, title: en.login.setup, message: en.login.noToken, request: null }} />;
  const send = ({ email = "", password = "", name = "", workspace_name = "" }: Fields) =>
    client.post("setup", {}, { token, email, password, name, workspace_name });
  return (
    <Form title={en.login.setup} submit={en.login.make} send={send}>
      <p className="quiet">{en.login.setupText}</p>
      <Field name="name" label={en.login.name} complete="name" />
      <Field name="email" label={en.login.email} type="email" complete="username" />
      <Field name="password" label={en.login.password} type="password" complete="new-password" />
      <Field name="workspace_name" label={en.login.workspace} complete="organization" />
    </Form>
  );
}
