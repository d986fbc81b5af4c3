// AuditPart.tsx - actions in the workspace, newest first, page by page.
import { useState } from "react";
import { client, Problem } from "../../api/client";
import type { RowAudited } from "../../api/schema";
import { useApi } from "../../api/use";
import { exactDate, moment } from "../../format/format";
import { settings } from "../../text/settings";
import { Words } from "../../ui/Name";
import { Listing, type Column } from "../../ui/Listing";
import { Empty, Panel, ProblemView, Skeleton } from "../../ui/parts";

const text = settings.audit;
const head = text.columns;

const detailOf = (detail: unknown): string => (detail === null || detail === "" || detail === undefined ? "" : typeof detail === "string" ? detail : JSON.stringify(detail));

export function AuditPart() {
  const asked = useApi("audit", { limit: 100 });
  const [people, keys, rules] = [useApi("members", {}), useApi("keys", {}), useApi("alerts", {})];
  const [more, setMore] = useState<{ rows: RowAudited[]; next: string | null }>();
  const [problem, setProblem] = useState<Problem>();
  if (asked.problem && !asked.data) return <ProblemView problem={asked.problem} again={asked.again} />;
  if (!asked.data) return <Skeleton rows={10} />;
  const rows = [...asked.data.rows, ...(more?.rows ?? [])];
  if (rows.length === 0) return <Empty title={text.none} text={text.noneText} />;
  const names = new Map([...(people.data?.rows ?? []).map((row) => [row.account, row.email] as const), ...[...(keys.data?.rows ?? []), ...(rules.data?.rows ?? [])].map((row) => [row.id, row.name] as const)]);
  const columns: Column<RowAudited>[] = [
    { label: head.at, className: "number", title: (row) => exactDate(row.at), show: (row) => moment(row.at) },
    { label: head.actor, className: "wrap", show: (row) => <Words text={row.actor ? (row.kind === "user" ? "" : `${row.kind} `) + (names.get(row.actor) ?? row.actor) : text.server} /> },
    { label: head.action, className: "mono", show: (row) => row.action },
    { label: head.target, className: "mono wrap", show: (row) => <Words text={names.get(row.target) ?? row.target} /> },
    { label: head.address, className: "mono", show: (row) => row.address },
    { label: head.detail, className: "mono wrap small", show: (row) => <Words text={detailOf(row.detail)} /> },
  ];
  const next = more ? more.next : asked.data.next;
  const load = (after: string) =>
    client.get("audit", { limit: 100, after }).then(
      (page) => setMore((now) => ({ rows: [...(now?.rows ?? []), ...page.rows], next: page.next })),
      (cause: unknown) => setProblem(cause as Problem),
    );
  return (
    <>
      <Panel title={settings.parts.audit!}>
        <Listing label={settings.parts.audit!} columns={columns} rows={rows} keyOf={(row) => row.number ?? ""} />
      </Panel>
      {problem && <ProblemView problem={problem} />}
      {next && (
        <button type="button" className="button" onClick={() => void load(next)}>
          {text.more}
        </button>
      )}
    </>
  );
}
