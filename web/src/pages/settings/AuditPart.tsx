// AuditPart.tsx - what was done in the workspace, newest first, page by page.
import { useState } from "react";
import { client, Problem } from "../../api/client";
import type { RowAudited } from "../../api/schema";
import { useApi } from "../../api/use";
import { date, exactDate } from "../../format/format";
import { settings } from "../../text/settings";
import { Empty, Panel, ProblemView, Skeleton } from "../../ui/parts";

const text = settings.audit;

const detailOf = (detail: unknown): string => (detail === null || detail === "" || detail === undefined ? "" : typeof detail === "string" ? detail : JSON.stringify(detail));

export function AuditPart() {
  const asked = useApi("audit", { limit: 100 });
  const people = useApi("members", {});
  const [more, setMore] = useState<{ rows: RowAudited[]; next: string | null }>();
  const [problem, setProblem] = useState<Problem>();
  if (asked.problem && !asked.data) return <ProblemView problem={asked.problem} again={asked.again} />;
  if (!asked.data) return <Skeleton rows={10} />;
  const rows = [...asked.data.rows, ...(more?.rows ?? [])];
  if (rows.length === 0) return <Empty title={text.none} />;
  const names = new Map((people.data?.rows ?? []).map((row) => [row.account, row.email]));
  const next = more ? more.next : asked.data.next;
  const load = (after: string) =>
    client.get("audit", { limit: 100, after }).then(
      (page) => setMore((now) => ({ rows: [...(now?.rows ?? []), ...page.rows], next: page.next })),
      (cause: unknown) => setProblem(cause as Problem),
    );
  return (
    <>
      <Panel title={settings.parts.audit!}>
        <div className="scroll-x" tabIndex={0} role="region" aria-label={settings.parts.audit}>
          <table className="simple">
            <thead>
              <tr>
                {Object.values(text.columns).map((label) => (
                  <th scope="col" key={label}>
                    {label}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.map((row) => (
                <tr key={row.number}>
                  <td className="number" title={exactDate(row.at)}>
                    {date(row.at)}
                  </td>
                  <td className="wrap">{names.get(row.actor) ?? (row.actor ? `${row.kind} ${row.actor}` : text.server)}</td>
                  <td className="mono">{row.action}</td>
                  <td className="mono wrap">{names.get(row.target) ?? row.target}</td>
                  <td className="mono">{row.address}</td>
                  <td className="mono wrap small">{detailOf(row.detail)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
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
