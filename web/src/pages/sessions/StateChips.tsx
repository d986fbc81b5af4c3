// StateChips.tsx - whether a session runs, has ended, or stopped without an end; and whether its
// GPU is simulated.
import type { RowSession } from "../../api/schema";
import { en } from "../../text/en";

export function StateChips({ session }: { session: RowSession }) {
  const name = en.session.states[session.state] ?? session.state;
  const tone = session.state === "live" ? "chip chip-live" : session.state === "aborted" ? "chip chip-warn" : "chip";
  return (
    <span className="row">
      <span className={tone}>{name}</span>
      {session.simulated && <span className="chip">{en.session.isSimulated}</span>}
    </span>
  );
}
