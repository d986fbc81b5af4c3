// Ranks.tsx - the processes of a run on one clock, those of one host together: one strip each,
// which links to the timeline of its session at the place that was clicked.
import { useMemo, type MouseEvent } from "react";
import { useApi } from "../../api/use";
import { duration, UNKNOWN } from "../../format/format";
import { Link } from "../../router/Link";
import { go, href } from "../../router/router";
import { run as text } from "../../text/run";
import { listOf } from "../../timeline/lanes";
import { rangeText } from "../../timeline/view";
import { Panel } from "../../ui/parts";
import { askOf, busyOf, groupsOf, lanesOf, onOneClock, outline, PX, type Rank } from "./ranks";
import type { RowSession } from "../../api/schema";
import "./ranks.css";

const SPANS = 20_000;
const AROUND = 0.05; // part of the session on either side of the place that was clicked
const MARKS = 4;

/** The contents of the strip: the outlines of kernels and of copies; undefined: under way, null:
 * no GPU work. */
function useStrips({ session: { id: session }, length }: Rank): { work: string; copies: string } | null | undefined {
  const askedLanes = useApi("lanes", { session });
  const lanes = useMemo(() => (askedLanes.data ? lanesOf(askedLanes.data) : undefined), [askedLanes.data]);
  const all = lanes ? [...lanes.work, ...lanes.copies] : [];
  const { level, step, column, from, to } = askOf(length);
  const asked = all.length > 0 ? { session, level, lanes: listOf(all), from, to } : null;
  const tiles = useApi("tiles", asked && { ...asked, step });
  const spans = useApi("spans", asked && { ...asked, limit: SPANS });
  return useMemo(() => {
    if (lanes && all.length === 0) return null;
    if (!lanes || !tiles.data || !spans.data) return undefined;
    const strip = (of: string[]): string => outline(busyOf(tiles.data!, spans.data!, of, column, length, PX));
    return { work: strip(lanes.work), copies: strip(lanes.copies) };
  }, [lanes, tiles.data, spans.data, column, length]); // eslint-disable-line react-hooks/exhaustive-deps
}

function Strip({ rank, whole }: { rank: Rank; whole: number }) {
  const strips = useStrips(rank);
  const { session: s, from, length } = rank;
  const to = (at?: string): string => href("session", { session: s.id, tab: "timeline" }, at ? { at } : {});
  function open(event: MouseEvent<HTMLAnchorElement>) {
    const box = event.currentTarget.querySelector(".rank-time")!.getBoundingClientRect();
    const part = (event.clientX - box.left) / box.width;
    // A key press has no place.
    if (event.detail === 0 || part < 0 || part > 1 || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(to(rangeText({ from: Math.max(0, (part - AROUND) * length), to: Math.min(1, part + AROUND) * length })));
  }
  const place = `${text.process(s.host || UNKNOWN, String(s.pid ?? UNKNOWN))}`;
  return (
    <Link className="rank" href={to()} onClick={open} title={text.rankText(place, duration(from), duration(length))}>
      <span className="rank-name small ellipsis">{text.pid(String(s.pid ?? UNKNOWN))}</span>
      <svg className="rank-strip" viewBox={`0 0 ${PX} 26`} preserveAspectRatio="none" aria-hidden="true">
        <svg className="rank-box" x={(from / whole) * PX} width={Math.max(1, (length / whole) * PX)} height="26" viewBox={`0 0 ${PX} 26`} preserveAspectRatio="none">
          <rect className="rank-time" width={PX} height="26" />
          {strips && <path className="rank-work" d={strips.work} transform="scale(1 18)" />}
          {strips && <path className="rank-copies" d={strips.copies} transform="translate(0 20) scale(1 6)" />}
        </svg>
      </svg>
      {strips === null && <span className="rank-none small quiet">{text.rankNone}</span>}
    </Link>
  );
}

export function Ranks({ rows }: { rows: readonly RowSession[] }) {
  const { ranks, length } = useMemo(() => onOneClock(rows), [rows]);
  const groups = useMemo(() => groupsOf(ranks), [ranks]);
  if (ranks.length < 2) return null;
  return (
    <Panel title={text.clock} aside={groups.length > 1 ? text.clocksText : text.clockText}>
      <div className="ranks panel-body">
        {groups.map(({ host, ranks: of }) => (
          <section key={host} aria-label={host || UNKNOWN}>
            <h3 className="small">{host || UNKNOWN}</h3>
            {of.map((rank) => (
              <Strip key={rank.session.id} rank={rank} whole={length} />
            ))}
          </section>
        ))}
        <p className="ranks-axis small number quiet" aria-hidden="true">
          {Array.from({ length: MARKS + 1 }, (_, at) => (
            <span key={at}>{duration((length * at) / MARKS)}</span>
          ))}
        </p>
      </div>
    </Panel>
  );
}
