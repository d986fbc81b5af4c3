// MembersPart.tsx - who is in the workspace; owners change roles, remove, and invite.
import { useState } from "react";
import { client } from "../../api/client";
import { may } from "../../api/may";
import type { RowMember } from "../../api/schema";
import { useAct, useApi } from "../../api/use";
import { settings } from "../../text/settings";
import { Ask, CopyButton, Pick } from "../../ui/forms";
import { dateColumn, Listing, type Column } from "../../ui/Listing";
import { Words } from "../../ui/Name";
import { Panel, ProblemView, Skeleton } from "../../ui/parts";
import { tokenLink } from "./commands";
import type { PartProps } from "./SettingsPage";

const text = settings.members;
const head = text.columns;
const ROLES = ["viewer", "member", "owner"] as const;
type Role = (typeof ROLES)[number];
const OPTIONS = ROLES.map((role) => ({ value: role, label: settings.roles[role]! }));

function Invite() {
  const [role, setRole] = useState<Role>("member");
  const [link, setLink] = useState("");
  const invite = useAct(async () => {
    const made = await client.change("invite", {}, { role });
    setLink(tokenLink(location.origin, "invite", made.token ?? ""));
  });
  return (
    <Panel title={text.invite}>
      <div className="panel-body stack">
        <p className="quiet">{text.inviteText}</p>
        <form
          className="form-line"
          onSubmit={(event) => {
            event.preventDefault();
            void invite.run();
          }}
        >
          <Pick label={text.columns.role} value={role} options={OPTIONS} onChange={(value) => setRole(value as Role)} />
          <button type="submit" className="button button-main" disabled={invite.busy}>
            {text.make}
          </button>
        </form>
        {invite.problem && <ProblemView problem={invite.problem} />}
        {link && (
          <div className="stack" role="status">
            <span className="small quiet">{text.link}</span>
            <div className="row">
              <code className="secret-value">{link}</code>
              <CopyButton text={link} />
            </div>
          </div>
        )}
      </div>
    </Panel>
  );
}

/** What an owner may do with a member. */
interface Actions {
  onRole: (row: RowMember, role: Role) => void;
  onRemove: (row: RowMember) => void;
}

/** actions: null: the reader is no owner. */
const columnsFor = (me: string | null, actions: Actions | null): Column<RowMember>[] => [
  {
    label: head.name,
    className: "wrap",
    show: (row) => (
      <>
        <Words text={row.name} /> {row.account === me && <span className="chip">{text.you}</span>}
      </>
    ),
  },
  { label: head.email, className: "wrap", show: (row) => <Words text={row.email} /> },
  {
    label: head.role,
    show: (row) =>
      actions ? <Pick hide label={text.roleOf(row.name || row.email)} value={row.role} options={OPTIONS} onChange={(role) => actions.onRole(row, role as Role)} /> : (settings.roles[row.role] ?? row.role),
  },
  dateColumn(head.since, (row) => row.created),
  ...(actions
    ? [
        {
          label: "",
          right: true,
          show: (row: RowMember) => (
            <button type="button" className="button" onClick={() => actions.onRemove(row)} aria-label={`${text.remove} ${row.name || row.email}`}>
              {text.remove}
            </button>
          ),
        },
      ]
    : []),
];

export function MembersPart({ me }: PartProps) {
  const asked = useApi("members", {});
  const [leaving, setLeaving] = useState<RowMember>();
  const owner = may(me, "OWNER");
  const put = useAct(async (user: string, role: Role) => {
    await client.change("member_put", { user }, { role });
    asked.again();
  });
  const remove = useAct(async (user: string) => {
    await client.change("member_delete", { user }, undefined);
    setLeaving(undefined);
    asked.again();
  });
  if (asked.problem && !asked.data) return <ProblemView problem={asked.problem} again={asked.again} />;
  if (!asked.data) return <Skeleton />;
  const wrong = put.problem ?? remove.problem;
  const actions: Actions = { onRole: (row, role) => void put.run(row.account, role), onRemove: setLeaving };
  return (
    <>
      {wrong && !leaving && <ProblemView problem={wrong} />}
      <Panel title={settings.parts.members!}>
        <Listing roomy label={settings.parts.members!} columns={columnsFor(me.id, owner ? actions : null)} rows={asked.data.rows} keyOf={(row) => row.account} />
      </Panel>
      {owner && !me.local && <Invite />}
      {leaving && (
        <Ask danger title={text.removeTitle(leaving.name || leaving.email)} action={text.remove} busy={remove.busy} problem={remove.problem} onDo={() => void remove.run(leaving.account)} onClose={() => setLeaving(undefined)}>
          <p>{text.removeText}</p>
        </Ask>
      )}
    </>
  );
}
