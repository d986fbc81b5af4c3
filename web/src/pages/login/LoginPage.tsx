// LoginPage.tsx - everything before a login: logging in, the first account with the link that the
// server printed, an invitation, a new password (/setup#token=…: a browser never sends the part
// after # by itself).
import { useState, type FormEvent, type ReactNode } from "react";
import { client, Problem } from "../../api/client";
import { who } from "../../api/who";
import { go, usePlace } from "../../router/router";
import { join, login } from "../../text/login";
import { Field } from "../../ui/forms";
import { Panel, ProblemView } from "../../ui/parts";
import { hashToken, safeNext, TO_LOGIN } from "./next";

/** Pages that only serve visitors without a login. */
const OUTSIDE: ReadonlySet<string> = new Set(["login", "setup", "invite", "reset"]);

type Fields = Record<string, string>;

/** linked: a link led here, which may have been used before or be out of date. */
function Form({ title, submit, send, linked, children }: { title: string; submit: string; send: (fields: Fields) => Promise<unknown>; linked?: boolean; children: ReactNode }) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem>();
  const place = usePlace();
  function submitted(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const fields: Fields = {};
    new FormData(event.currentTarget).forEach((value, name) => (fields[name] = String(value)));
    setBusy(true);
    send(fields).then(
      () => {
        who.renewed();
        if (OUTSIDE.has(place.page ?? "")) go(safeNext(place.query.get("next"))); // on any other page a user who logs in stays where the address leads
      },
      (cause: unknown) => {
        setBusy(false);
        setProblem(cause instanceof Problem ? cause : new Problem(0, login.failed, String(cause)));
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
      {problem && <ProblemView problem={{ status: 0, title: login.failed, message: problem.message, request: problem.request }} {...(linked ? { onward: TO_LOGIN } : {})} />}
    </div>
  );
}

const Incomplete = ({ title, text }: { title: string; text: string }) => <ProblemView alone problem={{ status: -1, title, message: text, request: null }} onward={TO_LOGIN} />;

export function LoginPage() {
  return (
    <Form title={login.title} submit={login.submit} send={({ email = "", password = "" }) => client.post("login", {}, { email, password })}>
      <Field name="email" label={login.email} type="email" complete="username" />
      <Field name="password" label={login.password} type="password" complete="current-password" />
    </Form>
  );
}

export function SetupPage() {
  const token = hashToken(location.hash);
  if (!token) return <Incomplete title={login.setup} text={login.noToken} />;
  const send = ({ email = "", password = "", name = "", workspace_name = "" }: Fields) =>
    client.post("setup", {}, { token, email, password, name, workspace_name });
  return (
    <Form linked title={login.setup} submit={login.make} send={send}>
      <p className="quiet">{login.setupText}</p>
      <Field name="name" label={login.name} complete="name" />
      <Field name="email" label={login.email} type="email" complete="username" />
      <Field name="password" label={login.password} type="password" complete="new-password" hint={join.passwordHint} />
      <Field name="workspace_name" label={login.workspace} complete="organization" />
    </Form>
  );
}

export function InvitePage() {
  const token = hashToken(location.hash);
  if (!token) return <Incomplete title={join.inviteTitle} text={join.noToken} />;
  return (
    <Form linked title={join.inviteTitle} submit={join.join} send={({ email = "", password = "", name = "" }) => client.post("accept", {}, { token, email, password, name })}>
      <p className="quiet">{join.inviteText}</p>
      <Field name="email" label={login.email} type="email" complete="username" />
      <Field name="password" label={login.password} type="password" complete="current-password" hint={join.passwordHint} />
      <Field name="name" label={join.newName} complete="name" optional />
    </Form>
  );
}

export function ResetPage() {
  const token = hashToken(location.hash);
  if (!token) return <Incomplete title={join.resetTitle} text={join.noToken} />;
  return (
    <Form linked title={join.resetTitle} submit={join.set} send={({ password = "" }) => client.post("reset", {}, { token, password })}>
      <p className="quiet">{join.resetText}</p>
      <Field name="password" label={login.password} type="password" complete="new-password" hint={join.passwordHint} />
    </Form>
  );
}
