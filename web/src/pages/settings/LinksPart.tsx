// LinksPart.tsx - share links to sessions, and how to revoke them.
import { useState } from "react";
import { client } from "../../api/client";
import type { RowShare } from "../../api/schema";
import { useAct, useApi } from "../../api/use";
import { Link } from "../../router/Link";
import { href } from "../../router/router";
import { settings } from "../../text/settings";
import { Ask } from "../../ui/forms";
import { dateColumn, Listing, type Column } from "../../ui/Listing";
import { Words } from "../../ui/Name";
import { Empty, Panel, ProblemView, Skeleton } from "../../ui/parts";
import { stateOf } from "./links";

const text = settings.links;
const head = text.columns;

export function LinksPart() {
  const asked = useApi("shares", {});
  const people = useApi("members", {});
  const [leaving, setLeaving] = useState<RowShare>();
  const revoke = useAct(async (share: string) => {
    await client.change("share_revoke", { share }, undefined);
    setLeaving(undefined);
    asked.again();
  });
  if (asked.problem && !asked.data) return <ProblemView problem={asked.problem} again={asked.again} />;
  if (!asked.data) return <Skeleton />;
  if (asked.data.rows.length === 0) return <Empty title={text.none} text={text.noneText} />;
  const now = Date.now();
  const names = new Map((people.data?.rows ?? []).map((row) => [row.account, row.email]));
  const columns: Column<RowShare>[] = [
    { label: head.session, className: "mono", show: (row) => <Link href={href("session", { session: row.session, tab: "insights" })}>{row.session.slice(0, 8)}</Link> },
    { label: head.link, className: "mono", show: (row) => row.id.slice(0, 8) },
    { label: head.creator, className: "wrap", show: (row) => <Words text={names.get(row.creator) ?? row.creator} /> },
    dateColumn(head.created, (row) => row.created),
    dateColumn(head.expires, (row) => row.expires),
    { label: head.state, show: (row) => text.states[stateOf(row, now)] },
    {
      label: "",
      right: true,
      show: (row) =>
        stateOf(row, now) === "open" && (
          <button type="button" className="button" onClick={() => setLeaving(row)} aria-label={`${text.revoke} ${row.id.slice(0, 8)}`}>
            {text.revoke}
          </button>
        ),
    },
  ];
  return (
    <Panel title={settings.parts.links!}>
      <Listing roomy label={settings.parts.links!} columns={columns} rows={asked.data.rows} keyOf={(row) => row.id} rowClass={(row) => (stateOf(row, now) === "open" ? undefined : "off")} />
      {leaving && (
        <Ask danger title={text.revokeTitle} action={text.revoke} busy={revoke.busy} problem={revoke.problem} onDo={() => void revoke.run(leaving.id)} onClose={() => setLeaving(undefined)}>
          <p>{text.revokeText}</p>
        </Ask>
      )}
    </Panel>
  );
}
