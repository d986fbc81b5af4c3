// PassChip.tsx - which pass of its run a session is. Passes of one command read alike otherwise: they have the name of the
// program, and begin in the same minute.
import type { RowSession } from "../../api/schema";
import { sessions as text } from "../../text/sessions";
import { passOf } from "../session/facts";

/** engine: the row has no column of the engine. */
export function PassChip({ session, engine }: { session: RowSession; engine?: boolean }) {
  const pass = passOf(session);
  if (!pass) return null;
  const name = text.passOf(pass.pass, pass.passes);
  return (
    <span className="chip" title={`${name}: ${session.engine}`}>
      {engine ? `${name} · ${session.engine}` : name}
    </span>
  );
}
