// causes.ts - which finding and which lines a part of the GPU's time leads to.
import type { IdleLine } from "../../api/report";

/** Rules whose findings are about that cause of idle time, the better one first. */
const RULES_OF: Record<string, readonly string[]> = {
  host_sync: ["sync_loop", "sync_line"],
  copy: ["pageable_copies", "sync_loop", "sync_line"],
  copies: ["pageable_copies", "small_copies"],
  memory: ["memory_alloc_loop", "sync_line"],
  slow_launches: ["launch_storm"],
  back_to_back: ["launch_storm"],
  late_launch: ["late_launch", "cpu_limit", "paging"],
  nothing_submitted: ["idle_cause", "cpu_limit", "paging"],
  rank_wait: ["rank_wait"],
};

interface About {
  rule: string;
  file: string;
  line: number | null;
}

/** A cause's line in the address, apart from those of findings: one line may have time of several causes. */
export const lineKey = ({ cause, ended, file, line }: Pick<IdleLine, "cause" | "ended" | "file" | "line">): string => `at:${cause}${ended ? ".ended" : ""}:${file}:${line}`;

export const linesOf = (part: string, lines: readonly IdleLine[], most: number): IdleLine[] => lines.filter(({ cause }) => cause === part).slice(0, most);

/** The finding at the cause's first line, else the first one of a rule about the cause. */
export function findingOf<T extends About>(part: string, lines: readonly IdleLine[], findings: readonly T[]): T | undefined {
  const rules = RULES_OF[part] ?? [];
  const mine = findings.filter(({ rule }) => rules.includes(rule)).sort((a, b) => rules.indexOf(a.rule) - rules.indexOf(b.rule));
  const first = lines.find(({ cause }) => cause === part);
  return mine.find((f) => first && f.file === first.file && f.line === first.line) ?? mine[0];
}
