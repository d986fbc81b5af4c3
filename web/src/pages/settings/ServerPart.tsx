// ServerPart.tsx - for administrators of the server: workspaces, users, backups.
import { useState } from "react";
import { client } from "../../api/client";
import type { RowUser, RowWorkspace } from "../../api/schema";
import { useAct, useApi } from "../../api/use";
import { who } from "../../api/who";
import { bytes } from "../../format/format";
import { settings } from "../../text/settings";
import { Ask, CopyButton, Field } from "../../ui/forms";
import { dateColumn, Listing, type Column } from "../../ui/Listing";
import { Words } from "../../ui/Name";
import { Panel, ProblemView, Skeleton } from "../../ui/parts";
import { tokenLink } from "./commands";
import type { PartProps } from "./SettingsPage";

const text = settings.server;

function Delete({ row, onClose, onDone }: { row: RowWorkspace; onClose: () => void; onDone: () => void }) {
  const [typed, setTyped] = useState("");
  const remove = useAct(async () => {
    await client.change("workspace_delete", { id: row.id }, undefined);
    onDone();
  });
  return (
    <Ask danger title={text.removeTitle(row.name)} action={text.remove} busy={remove.busy} problem={remove.problem} disabled={typed !== row.name} onDo={() => void remove.run()} onClose={onClose}>
      <p>{text.removeText}</p>
      <Field name="typed" label={text.name} value={typed} onChange={setTyped} />
    </Ask>
  );
}

function Workspaces({ here }: { here: string | null }) {
  const asked = useApi("workspaces", {});
  const [name, setName] = useState("");
  const [leaving, setLeaving] = useState<RowWorkspace>();
  const make = useAct(async () => {
    await client.change("workspace_make", {}, { name });
    setName("");
    if (!who.workspace && here) who.choose(here); // the server's choice is the first one by name, which may be the new one
    else who.renewed();
  });
  const columns: Column<RowWorkspace>[] = [
    { label: text.columns.name, className: "wrap", show: (row) => <strong><Words text={row.name} /></strong> },
    { label: text.columns.id, className: "mono small", show: (row) => row.id },
    dateColumn(text.columns.since, (row) => row.created),
    {
      label: "",
      right: true,
      show: (row) =>
        row.id !== here && (
          <button type="button" className="button" onClick={() => setLeaving(row)} aria-label={`${text.remove} ${row.name}`}>
            {text.remove}
          </button>
        ),
    },
  ];
  return (
    <Panel title={text.workspaces}>
      {asked.problem && <ProblemView problem={asked.problem} again={asked.again} />}
      {!asked.data && <Skeleton rows={2} />}
      {asked.data && <Listing roomy label={text.workspaces} columns={columns} rows={asked.data.rows} keyOf={(row) => row.id} />}
      <form
        className="panel-body form-line"
        onSubmit={(event) => {
          event.preventDefault();
          void make.run();
        }}
      >
        <Field name="name" label={text.name} value={name} onChange={setName} />
        <button type="submit" className="button" disabled={make.busy}>
          {text.make}
        </button>
      </form>
      {make.problem && (
        <div className="panel-body">
          <ProblemView problem={make.problem} />
        </div>
      )}
      {leaving && (
        <Delete
          row={leaving}
          onClose={() => setLeaving(undefined)}
          onDone={() => {
            setLeaving(undefined);
            asked.again();
          }}
        />
      )}
    </Panel>
  );
}

function Users() {
  const asked = useApi("users", {});
  const [link, setLink] = useState<{ email: string; address: string }>();
  const reset = useAct(async (user: RowUser) => {
    const made = await client.change("user_reset", { user: user.id }, undefined);
    setLink({ email: user.email, address: tokenLink(location.origin, "reset", made.token ?? "") });
  });
  const columns: Column<RowUser>[] = [
    { label: text.columns.name, className: "wrap", show: (row) => <strong><Words text={row.name} /></strong> },
    { label: text.columns.email, className: "wrap", show: (row) => <Words text={row.email} /> },
    {
      label: text.columns.role,
      show: (row) => (
        <>
          {row.admin ? text.admin : text.user} {row.disabled && <span className="chip chip-warn">{text.disabled}</span>}
        </>
      ),
    },
    dateColumn(text.columns.since, (row) => row.created),
    {
      label: "",
      right: true,
      show: (row) => (
        <button type="button" className="button" disabled={reset.busy} onClick={() => void reset.run(row)} aria-label={`${text.reset} ${row.email}`}>
          {text.reset}
        </button>
      ),
    },
  ];
  return (
    <Panel title={text.users}>
      {asked.problem && <ProblemView problem={asked.problem} again={asked.again} />}
      {!asked.data && <Skeleton rows={2} />}
      {asked.data && <Listing roomy label={text.users} columns={columns} rows={asked.data.rows} keyOf={(row) => row.id} />}
      {reset.problem && (
        <div className="panel-body">
          <ProblemView problem={reset.problem} />
        </div>
      )}
      {link && (
        <div className="panel-body stack" role="status">
          <span className="small quiet">{text.resetMade(link.email)}</span>
          <div className="row">
            <code className="secret-value">{link.address}</code>
            <CopyButton text={link.address} />
          </div>
        </div>
      )}
    </Panel>
  );
}

function Backup() {
  const [made, setMade] = useState("");
  const backup = useAct(async () => {
    const { name, bytes: size } = await client.change("backup", {}, undefined);
    setMade(text.backupMade(name ?? "", bytes(size)));
  });
  return (
    <Panel title={text.backup}>
      <div className="panel-body stack">
        <p className="quiet">{text.backupText}</p>
        <div className="row">
          <button type="button" className="button" disabled={backup.busy} onClick={() => void backup.run()}>
            {text.backupMake}
          </button>
          <span role="status">{made}</span>
        </div>
        {backup.problem && <ProblemView problem={backup.problem} />}
      </div>
    </Panel>
  );
}

export function ServerPart({ me }: PartProps) {
  return (
    <>
      <Workspaces here={me.workspace} />
      {!me.local && <Users />}
      <Backup />
    </>
  );
}
