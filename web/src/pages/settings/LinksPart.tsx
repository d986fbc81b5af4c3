// LinksPart.tsx - links to sessions that were handed out, and how to take them back.
import { useState } from "react";
import { client } from "../../api/client";
import type { RowShare } from "../../api/schema";
import { useAct, useApi } from "../../api/use";
import { date, exactDate } from "../../format/format";
import { Link } from "../../router/Link";
import { href } from "../../router/router";
import { settings } from "../../text/settings";
import { Ask } from "../../ui/forms";
import { Empty, Panel, ProblemView, Skeleton } from "../../ui/parts";
import { stateOf } from "./links";

const text = settings.links;

export function LinksPart() {
  const asked = useApi("shares", {});
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
  return (
    <Panel title={settings.parts.links!}>
      <div className="scroll-x" tabIndex={0} role="region" aria-label={settings.parts.links}>
        <table className="simple roomy">
          <thead>
            <tr>
              {Object.values(text.columns).map((label) => (
                <th scope="col" key={label}>
                  {label}
                </th>
              ))}
              <td />
            </tr>
          </thead>
          <tbody>
            {asked.data.rows.map((row) => {
              const state = stateOf(row, now);
              return (
                <tr key={row.id} className={state === "open" ? "" : "off"}>
                  <td className="mono">
                    <Link href={href("session", { session: row.session, tab: "insights" })}>{row.session.slice(0, 8)}</Link>
                  </td>
                  <td title={exactDate(row.created)}>{date(row.created)}</td>
                  <td title={exactDate(row.expires)}>{date(row.expires)}</td>
                  <td>{text.states[state]}</td>
                  <td className="right">
                    {state === "open" && (
                      <button type="button" className="button" onClick={() => setLeaving(row)} aria-label={`${text.revoke} ${row.session.slice(0, 8)}`}>
                        {text.revoke}
                      </button>
                    )}
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
      {leaving && (
        <Ask danger title={text.revokeTitle} action={text.revoke} busy={revoke.busy} onDo={() => void revoke.run(leaving.id)} onClose={() => setLeaving(undefined)}>
          <p>{text.revokeText}</p>
          {revoke.problem && (
            <p className="wrong" role="alert">
              {revoke.problem.message}
            </p>
          )}
        </Ask>
      )}
    </Panel>
  );
}
