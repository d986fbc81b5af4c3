// Captured.tsx - the ledger in a few words, for the header: whether anything is lost, and which
// part of what was launched is recorded. The tab Export has the whole ledger.
import { launchedOf, ledgerOf, messagesOf } from "../../api/report";
import type { RowSession } from "../../api/schema";
import { exact, percent, UNKNOWN } from "../../format/format";
import { Link } from "../../router/Link";
import { href } from "../../router/router";
import { captured as capturedText } from "../../text/captured";
import { en } from "../../text/en";

/** ledger: the report's part; undefined: not here yet. */
export function Captured({ session: s, ledger }: { session: RowSession; ledger: unknown }) {
  if (ledger === undefined)
    return (
      <>
        {UNKNOWN}
        <small>{en.session.ledgerPending}</small>
      </>
    );
  const { verdict, missing } = ledgerOf(ledger);
  const { launched, written } = launchedOf(ledger);
  const messages = messagesOf(ledger);
  const worse = capturedText.problems(...(["error", "warning"].map((severity) => messages.filter((message) => message.severity === severity).length) as [number, number]));
  const whole = verdict === "complete" || verdict === "uncounted";
  const part = launched && written !== null ? Math.min(1, written / launched) : null;
  return (
    <Link className="captured" href={href("session", { session: s.id, tab: "raw" })} title={[en.session.ledgerMore, ...missing].join("\n")}>
      <span className={whole ? "captured-good" : "captured-lost"}>{en.session.ledgers[verdict] ?? verdict}</span>
      {part !== null && part < 1 && <small title={`${exact(written)} / ${exact(launched)}`}>{en.session.ledgerSome(percent(part))}</small>}
      {!whole && missing[0] && <small>{missing[0]}</small>}
      {worse && <small className="captured-lost">{worse}</small>}
    </Link>
  );
}
