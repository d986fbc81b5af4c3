// StateChips.tsx - whether a session runs, has ended, or stopped without an end; and whether its
// GPU is simulated.
import type { RowSession } from "../../api/schema";
import { en } from "../../text/en";

const stateOf = (session: RowSession): string => en.session.states[session.state] ?? session.state;
const EDGES = 24; // px of a chip and of a cell, besides the letters
const LETTER = 7.6;
const LEAST = 92;

/** The px that the chips of the widest row take, for letters of the usual size. */
export function chipsWidth(rows: readonly RowSession[]): number {
  const chip = (text: string): number => text.length * LETTER + EDGES;
  return Math.ceil(rows.reduce((most, row) => Math.max(most, EDGES + chip(stateOf(row)) + (row.simulated ? 4 + chip(en.session.isSimulated) : 0)), LEAST));
}

export function StateChips({ session }: { session: RowSession }) {
  const tone = session.state === "live" ? "chip chip-live" : session.state === "aborted" ? "chip chip-warn" : "chip";
  return (
    <span className="row">
      <span className={tone}>{stateOf(session)}</span>
      {session.simulated && <span className="chip">{en.session.isSimulated}</span>}
    </span>
  );
}
