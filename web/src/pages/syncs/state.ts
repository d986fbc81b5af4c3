// state.ts - what a thread did at a line.
import type { HostLine } from "../../api/host";
import { host } from "../../text/host";
import { syncs } from "../../text/syncs";

/** What a thread did at a line: "blocked: read", "waited for the GPU: stream synchronizations". */
export function stateOf({ state, syscall, call }: Pick<HostLine, "state" | "syscall" | "call">): string {
  const said = host.states[state] ?? host.unknown;
  const more = call ? (syncs.calls[call] ?? call) : syscall;
  return more ? `${said}: ${more}` : said;
}
