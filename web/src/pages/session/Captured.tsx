// Captured.tsx - the ledger in a few words, for the header: whether anything is lost, and how much of
// what was launched is here. The whole of it stands in the raw records.
import { launchedOf, ledgerOf } from "../../api/report";
import type { RowSession } from "../../api/schema";
import { onSession, useApi } from "../../api/use";
import { exact, percent, UNKNOWN } from "../../format/format";
import { Link } from "../../router/Link";
import { href } from "../../router/router";
import { sessions as text } from "../../text/sessions";

export function Captured({ session: s }: { session: RowSession }) {
  const asked = useApi("section_ledger", s.busy === null ? null : { session: s.id }, { every: 0, on: onSession(s.id) });
  if (!asked.data)
    return (
      <>
        {UNKNOWN}
        <small>{text.ledgerPending}</small>
      </>
    );
  const { verdict, missing } = ledgerOf(asked.data);
  const { launched, written } = launchedOf(asked.data);
  const whole = verdict === "complete" || verdict === "uncounted";
  const part = launched && written !== null ? Math.min(1, written / launched) : null;
  return (
    <Link className="captured" href={href("session", { session: s.id, tab: "raw" })} title={[text.ledgerMore, ...missing].join("\n")}>
      <span className={whole ? "captured-good" : "captured-lost"}>{text.ledgers[verdict] ?? verdict}</span>
      {part !== null && part < 1 && <small title={`${exact(written)} / ${exact(launched)}`}>{text.ledgerSome(percent(part))}</small>}
      {!whole && missing[0] && <small>{missing[0]}</small>}
    </Link>
  );
}
