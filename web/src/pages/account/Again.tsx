// Again.tsx - the form with which a user logs in again over the page (Expired.tsx). The form is
// loaded when it is needed.
import { client } from "../../api/client";
import { useAct } from "../../api/use";
import { who } from "../../api/who";
import { en } from "../../text/en";
import { login as words } from "../../text/login";
import { Field } from "../../ui/forms";
import { Dialog } from "../../ui/parts";

export function Again() {
  const login = useAct(async (email: string, password: string) => {
    await client.post("login", {}, { email, password });
    who.renewed();
  });
  return (
    <Dialog title={en.expired.title} onClose={() => who.forgotten()}>
      <form
        className="panel-body stack"
        onSubmit={(event) => {
          event.preventDefault();
          const fields = new FormData(event.currentTarget);
          void login.run(String(fields.get("email")), String(fields.get("password")));
        }}
      >
        <h2>{en.expired.title}</h2>
        <p className="quiet">{en.expired.text}</p>
        <Field name="email" label={words.email} type="email" complete="username" />
        <Field name="password" label={words.password} type="password" complete="current-password" />
        {login.problem && (
          <p className="wrong" role="alert">
            {login.problem.message}
          </p>
        )}
        <button type="submit" className="button button-main" disabled={login.busy}>
          {words.submit}
        </button>
      </form>
    </Dialog>
  );
}
