// FlameTab.tsx - where the host was blocked, and what the GPU worked for, by stack: native and
// Python frames as the report has them. The address says which tree is shown, from which side, the
// search, the zoomed frame, and the marked frame.
import { useMemo, useState } from "react";
import { client } from "../../api/client";
import { useAsked } from "../../timeline/use";
import { duration, percent } from "../../format/format";
import { useApi } from "../../api/use";
import { list, number, raw } from "../../format/raw";
import { useQuery, useQuerySoon } from "../../router/router";
import { flameText as text } from "../../text/flame";
import { Listing, timeColumn, type Column } from "../../ui/Listing";
import { Name } from "../../ui/Name";
import { Empty, Panel, ProblemView, Search, Skeleton } from "../../ui/parts";
import type { TabProps } from "../session/tabs";
import { kernelsOf, LISTED } from "../kernels/kernel";
import { Icicle } from "./Icicle";
import { Origins, toneOf } from "./Origins";
import { framesOf, fullNames, nodeAt, ofKernels, search, stacksOf, treeOf, type Stack } from "./tree";

const TOP = 15;
const ALL_BUT = 0.995; // of the kernels' time; a smaller missing part is not mentioned

/** The part of the kernels' time that the stacks of GPU time cover, if it is less than all. */
function Missing({ session, stacks }: { session: string; stacks: readonly Stack[] }) {
  const summary = useApi("section_summary", { session });
  const kernels = list(raw(summary.data).sessions).reduce((sum: number, row) => sum + (number(row.kernel_ns) ?? 0), 0);
  const shown = ofKernels(stacks);
  if (kernels <= 0 || shown >= kernels * ALL_BUT) return null;
  return (
    <p className="notice" role="note">
      {shown > 0 ? text.partly(percent(shown / kernels), duration(kernels)) : text.without(duration(kernels), duration(stacks.reduce((sum, stack) => sum + stack.ns, 0)))}
    </p>
  );
}

type FullOf = (name: string) => string;

function useFullNames(session: string, wanted: boolean): FullOf {
  const asked = useApi("kernels", wanted ? { session, limit: LISTED } : null);
  return useMemo(() => {
    const full = fullNames(asked.data ? kernelsOf(asked.data) : []);
    return (name) => full.get(name) ?? name;
  }, [asked.data]);
}

function Top({ stacks, find, fullOf }: { stacks: readonly Stack[]; find: string; fullOf: FullOf }) {
  const frames = useMemo(() => framesOf(stacks).filter((frame) => frame.self > 0).slice(0, TOP), [stacks]);
  const all = stacks.reduce((sum, stack) => sum + stack.ns, 0);
  const columns: Column<(typeof frames)[number]>[] = [
    { label: text.frame, className: "mono wrap", show: (frame) => <Name short={frame.name} full={fullOf(frame.name)} find={find} /> },
    timeColumn(text.self, (frame) => frame.self),
    { label: text.share, right: true, show: (frame) => percent(frame.self / all) },
    timeColumn(text.total, (frame) => frame.total),
  ];
  return (
    <Panel title={text.top}>
      <Listing label={text.top} columns={columns} rows={frames} keyOf={(frame) => frame.name} />
    </Panel>
  );
}

function Flame({ session, trees }: { session: string; trees: Map<string, Stack[]> }) {
  const [wanted, setWanted] = useQuery("tree");
  const [inverted, setInverted] = useQuery("invert");
  const [words, setWords] = useQuery("find");
  const [zoom, setZoom] = useQuery("zoom");
  const [mark, setMark] = useQuerySoon("mark");
  const which = trees.has(wanted) ? wanted : [...trees.keys()][0]!;
  const stacks = trees.get(which)!;
  const name = text.trees[which] ?? which;
  const tree = useMemo(() => treeOf(stacks, name, inverted === "1"), [stacks, name, inverted]);
  const focus = useMemo(() => nodeAt(tree, zoom), [tree, zoom]);
  const marked = useMemo(() => nodeAt(tree, mark), [tree, mark]);
  const hits = useMemo(() => search(tree, words), [tree, words]);
  const fullOf = useFullNames(session, which === "GPU");
  const choose = (key: string): void => {
    setZoom("");
    setMark("");
    setWanted(key);
  };
  return (
    <>
      <div className="row">
        <div className="row" role="group" aria-label={text.tree}>
          {[...trees.keys()].map((key) => (
            <button key={key} type="button" className="button" aria-pressed={key === which} onClick={() => choose(key)}>
              {text.trees[key] ?? key}
            </button>
          ))}
        </div>
        <Search label={text.search} hint={text.searchHint} value={words} onChange={setWords} />
        <span className="small quiet" role="status">
          {words && (hits.found.size ? text.matched(duration(hits.total), percent(hits.total / tree[0]!.total)) : text.noMatch)}
        </span>
        <button
          type="button"
          className="button end"
          aria-pressed={inverted === "1"}
          title={text.invertText}
          onClick={() => {
            setZoom("");
            setMark("");
            setInverted(inverted === "1" ? "" : "1");
          }}
        >
          {text.invert}
        </button>
        <button type="button" className="button" disabled={focus === 0} onClick={() => setZoom("")}>
          {text.whole}
        </button>
      </div>
      {which === "GPU" && <Missing session={session} stacks={stacks} />}
      <Panel title={text.heading} aside={text.hint}>
        <Icicle key={`${which} ${inverted}`} tree={tree} label={text.picture(name)} focus={focus} onFocus={(node) => setZoom(node === 0 ? "" : String(tree[node]!.path))} found={words ? hits.found : null} chosen={mark ? marked : focus} onChoose={(node) => setMark(node === 0 ? "" : String(tree[node]!.path))} tone={toneOf} fullOf={fullOf} />
        <Origins stacks={stacks} />
      </Panel>
      <Top stacks={stacks} find={words} fullOf={fullOf} />
    </>
  );
}

export function FlameTab({ session }: TabProps) {
  // A live session's report is made again now and then; the session's row shows when data arrived.
  const [round, setRound] = useState(0);
  const asked = useAsked(`flame ${round} ${session.id} ${session.state} ${session.state === "live" ? session.received : ""}`, () => client.text("flame", { session: session.id }));
  const trees = useMemo(() => (asked.data === undefined ? undefined : stacksOf(asked.data)), [asked.data]);
  if (asked.problem?.status === 404 || trees?.size === 0)
    return session.state === "live" || !session.analyzed ? <Empty title={text.pending} text={text.pendingText} /> : <Empty title={text.none} text={text.noneText} />;
  if (asked.problem) return <ProblemView problem={asked.problem} again={() => setRound((n) => n + 1)} />;
  if (!trees) return <Skeleton rows={10} />;
  return (
    <div className="stack">
      <Flame session={session.id} trees={trees} />
    </div>
  );
}
