// ScopesTab.tsx - the tree of scopes as an icicle and as a table next to it: the time of each scope
// on the host's clock and on the GPU, and per iteration if a scope is a measured loop.
import { useMemo } from "react";
import { scopePaths, scopesOf, type Scope } from "../../api/report";
import { onSession, useApi } from "../../api/use";
import { vendorOf } from "../../api/vendor";
import { who } from "../../api/who";
import { duration } from "../../format/format";
import { pathText } from "../../format/paths";
import { Link } from "../../router/Link";
import { href, useQuery, useQuerySoon } from "../../router/router";
import { en } from "../../text/en";
import { flameText } from "../../text/flame";
import { wordsOf } from "../../text/kernel";
import { scopes as text } from "../../text/scopes";
import { countColumn, Listing, timeColumn, type Column } from "../../ui/Listing";
import { Empty, Meter, Panel, ProblemView, Skeleton } from "../../ui/parts";
import { Icicle } from "../flame/Icicle";
import { nodeAt, treeOfParts } from "../flame/tree";
import type { TabProps } from "../session/tabs";
import { captionOf, inTreeOrder, noteOf, perIteration } from "./tree";

const head = text.columns;

/** What a row of the table reads. Scopes of one name are called by several others. */
const readOf = (scope: Scope): string => `${scope.name} ${duration(scope.wall_ns)} ${scope.calls}`;

/** What more than one of the rows reads. */
const twinsOf = (scopes: readonly Scope[]): ReadonlySet<string> => {
  const seen = new Set<string>();
  return new Set(scopes.map(readOf).filter((read) => seen.has(read) || !seen.add(read)));
};

const LIVE_MS = 5000;

interface Choice {
  twins: ReadonlySet<string>; // what rows read that read the same
  chosen: number; // id of a scope
  onChoose: (scope: Scope) => void;
}

function Name({ scope, whole, twins, chosen, onChoose }: Choice & { scope: Scope; whole: number }) {
  return (
    <div style={{ paddingLeft: 20 * Math.min(scope.depth, 24) }}>
      <div className="scope-line">
        <button type="button" className="scope-name" data-name={scope.name} title={scope.name.slice(0, 1000)} aria-pressed={chosen === scope.id} onClick={() => onChoose(scope)}>
          {scope.name}
        </button>
        {scope.path !== null && !who.link && (
          <Link className="scope-trend small" href={href("trends", {}, { kind: "scope", name: pathText(scope.path) })} aria-label={en.toTrends.scope(scope.name.slice(0, 200))} title={en.toTrends.app}>
            {en.toTrends.short}
          </Link>
        )}
      </div>
      {twins.has(readOf(scope)) && scope.path && scope.path.length > 1 && <div className="quiet small">{text.within(scope.path.at(-2)!)}</div>}
      <Meter part={whole > 0 ? scope.wall_ns / whole : null} />
    </div>
  );
}

/** loops: whether any of the scopes is a measured loop. */
const columnsFor = (whole: number, loops: boolean, choice: Choice): Column<Scope>[] => [
  { label: head.name, className: "wrap", show: (scope) => <Name scope={scope} whole={whole} {...choice} /> },
  timeColumn(head.wall, (scope) => scope.wall_ns, text.hints.wall),
  countColumn(head.calls, (scope) => scope.calls),
  timeColumn(head.mean, (scope) => scope.wall_mean_ns),
  timeColumn(head.gpu, (scope) => scope.gpu_ns, text.hints.gpu),
  timeColumn(head.self, (scope) => scope.self_gpu_ns, text.hints.self),
  countColumn(head.kernels, (scope) => scope.kernels),
  timeColumn(head.waits, (scope) => scope.wait_ns),
  ...(loops
    ? [
        countColumn<Scope>(head.iterations, (scope) => scope.iterations || null),
        timeColumn<Scope>(head.perIteration, (scope) => scope.iteration_ns),
        timeColumn<Scope>(head.gpuPerIteration, (scope) => perIteration(scope.gpu_ns, scope.iterations)),
      ]
    : []),
];

export function ScopesTab({ session }: TabProps) {
  const asked = useApi("section_scopes", { session: session.id }, session.state === "live" ? { every: LIVE_MS, on: onSession(session.id) } : 0);
  const scopes = useMemo(() => (asked.data ? inTreeOrder(scopesOf(asked.data)) : undefined), [asked.data]);
  if (asked.problem && !asked.data) return <ProblemView problem={asked.problem} again={asked.again} />;
  if (!scopes) return <Skeleton rows={8} />;
  if (scopes.length === 0) return <Empty title={text.none} text={text.noneText(wordsOf(vendorOf(session)).ranges)} />;
  return <Scopes scopes={scopes} all={scopePaths(asked.data)} />;
}

/** all: how many scopes the session has; null: unknown. */
function Scopes({ scopes, all }: { scopes: Scope[]; all: number | null }) {
  const [measure, setMeasure] = useQuery("by", "wall");
  const [zoom, setZoom] = useQuery("zoom");
  const [mark, setMark] = useQuerySoon("mark");
  const gpu = measure === "gpu";
  const tree = useMemo(
    () => treeOfParts(scopes.map((scope) => ({ id: scope.id, parent: scope.parent, name: scope.name, value: gpu ? scope.gpu_ns : scope.wall_ns, own: gpu ? scope.self_gpu_ns : null })), flameText.measures[gpu ? "gpu" : "wall"]!, text.others),
    [scopes, gpu],
  );
  const focus = useMemo(() => nodeAt(tree, zoom), [tree, zoom]);
  const marked = useMemo(() => nodeAt(tree, mark), [tree, mark]);
  const whole = Math.max(...scopes.map((scope) => scope.wall_ns));
  const twins = useMemo(() => twinsOf(scopes), [scopes]);
  const loops = scopes.some((scope) => scope.iterations);
  const caption = useMemo(() => captionOf(tree, { scopes: scopes.length, complete: all !== null && all <= scopes.length, ownKnown: gpu }), [tree, all, scopes, gpu]);
  const choose = (scope: Scope): void => {
    const { path } = tree[scopes.indexOf(scope) + 1]!; // nodes follow the root, in the order of the scopes
    setMark(String(path));
    setZoom(String(path));
  };
  return (
    <div className="scopes">
      <Panel title={text.icicle}>
        <div className="row panel-body-tight" role="group" aria-label={flameText.measure}>
          {["wall", "gpu"].map((key) => (
            <button key={key} type="button" className="button" aria-pressed={measure === key} onClick={() => setMeasure(key)}>
              {flameText.measures[key]}
            </button>
          ))}
        </div>
        <Icicle tree={tree} label={flameText.scopes} focus={focus} onFocus={(node) => setZoom(node === 0 ? "" : String(tree[node]!.path))} found={null} chosen={mark ? marked : focus} onChoose={(node) => setMark(node === 0 ? "" : String(tree[node]!.path))} caption={caption} />
      </Panel>
      <Panel title={text.heading} aside={noteOf(scopes.length, all)}>
        <Listing label={text.heading} columns={columnsFor(whole, loops, { twins, chosen: scopes[marked - 1]?.id ?? 0, onChoose: choose })} rows={scopes} keyOf={(scope) => scope.id} rowClass={(_, at) => (marked === at + 1 ? "scope-here" : undefined)} />
      </Panel>
    </div>
  );
}
