// TimelinePage.tsx - the timeline with parts of other pages: the source window, the flame graph,
// and the other ranks of the session's run.
import { useMemo, useState } from "react";
import type { RowSession } from "../../api/schema";
import { onSession, useApi } from "../../api/use";
import { who } from "../../api/who";
import { count, percent, UNKNOWN } from "../../format/format";
import { Link } from "../../router/Link";
import { useQuery, usePlace, withQuery } from "../../router/router";
import { timelineText as text } from "../../text/timeline";
import type { Outside, FlameStack } from "../../timeline/outside";
import type { Rank } from "../../timeline/ranks";
import { RanksTimeline } from "../../timeline/RanksTimeline";
import { QUERY, TimelineTab } from "../../timeline/TimelineTab";
import { Skeleton } from "../../ui/parts";
import { Icicle } from "../flame/Icicle";
import { Origins, toneOf } from "../flame/Origins";
import { treeOf } from "../flame/tree";
import { SourceLine } from "../insights/SourceLine";
import { onOneClock } from "../run/ranks";
import { inOrder } from "../run/run";
import { passOf, runOf } from "../session/facts";
import type { TabProps } from "../session/tabs";

const LISTED = 200; // the server's limit for a list of sessions
export const RANKS_MOST = 64;

interface FlameProps {
  stacks: readonly FlameStack[];
  name: string;
  samples: boolean; // the stacks have numbers of samples
  fullOf: (name: string) => string;
}

function Flame({ stacks, name, samples, fullOf }: FlameProps) {
  const tree = useMemo(() => treeOf(stacks, name, false), [stacks, name]);
  const [focus, setFocus] = useState(0);
  const [chosen, setChosen] = useState(0);
  const number = (node: number): string => text.flameSamples(count(tree[node]!.total), percent(tree[0]!.total ? tree[node]!.total / tree[0]!.total : null), count(tree[node]!.self));
  return (
    <>
      <Icicle tree={tree} label={name} fullOf={fullOf} caption={samples ? number : undefined} focus={tree[focus] ? focus : 0} onFocus={setFocus} found={null} chosen={chosen} onChoose={setChosen} tone={toneOf} />
      <Origins stacks={stacks} samples={samples} />
    </>
  );
}

const OUTSIDE: Outside = { Source: SourceLine, Flame };

/** The processes of the session's run and pass, on its clock; the session itself is always
 * shown. */
export function ranksBeside(rows: readonly RowSession[], session: RowSession): { ranks: Rank[]; cut: number } {
  const pass = passOf(session)?.pass;
  const { ranks } = onOneClock(inOrder(rows).filter((row) => passOf(row)?.pass === pass));
  const mine = ranks.findIndex((rank) => rank.session.id === session.id);
  if (mine < 0) return { ranks: [], cut: 0 };
  const shown = ranks.filter((_, at) => at < RANKS_MOST - 1 || at === Math.max(mine, RANKS_MOST - 1));
  const begin = ranks[mine]!.from;
  return {
    cut: ranks.length - shown.length,
    ranks: shown.map(({ session: s, from, length }) => ({ session: s, offset: from - begin, length, title: text.rankTitle(s.host || UNKNOWN, String(s.pid ?? UNKNOWN)), note: s.busy === null ? "" : text.rankBusy(percent(s.busy)) })),
  };
}

function useRanks(session: RowSession) {
  const run = who.link ? "" : runOf(session);
  const live = session.state === "live";
  const asked = useApi("sessions", run ? { label: "run", label_value: run, limit: LISTED } : null, { every: 0, on: onSession(), settled: !live });
  const beside = useMemo(() => (asked.data ? ranksBeside(asked.data.rows, session) : { ranks: [], cut: 0 }), [asked.data, session]);
  return { ...beside, settled: !run || asked.data !== undefined || asked.problem !== undefined };
}

export function TimelinePage({ session }: TabProps) {
  const [mode] = useQuery(QUERY.ranks);
  const place = usePlace();
  const { ranks, cut, settled } = useRanks(session);
  if (mode === "all" && !settled) return <Skeleton rows={12} />;
  const to = (ranksMode: string): string => withQuery(location.pathname, place.query, { [QUERY.ranks]: ranksMode, [QUERY.open]: "", [QUERY.scroll]: "" });
  if (mode === "all" && ranks.length > 1)
    return (
      <RanksTimeline
        key={session.id}
        session={session}
        ranks={ranks}
        cut={cut}
        more={
          <Link className="button" href={to("")}>
            {text.oneRank}
          </Link>
        }
      />
    );
  const more = ranks.length > 1 && (
    <Link className="button" href={to("all")} title={text.allRanksText}>
      {text.allRanks(String(ranks.length + cut))}
    </Link>
  );
  return <TimelineTab session={session} outside={OUTSIDE} more={more} />;
}
