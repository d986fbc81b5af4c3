// Difference.tsx - where b spends more time than a, and where less, as one flame graph: red is
// more, blue is less; widths are the time of one side.
import { useCallback, useMemo } from "react";
import { useApi } from "../../api/use";
import { change, count, duration } from "../../format/format";
import { useQuery, useQuerySoon } from "../../router/router";
import { compare } from "../../text/compare";
import { Choices } from "../../ui/forms";
import { Panel, ProblemView, Skeleton } from "../../ui/parts";
import { token, useTheme } from "../../ui/theme";
import { Icicle } from "../flame/Icicle";
import { nodeAt } from "../flame/tree";
import { colourOf, sidesOf, treeOfSide, type Sides } from "./difference";

const text = compare.flame;
const TREES = ["waits", "gpu", "scopes", "idle"] as const;
const SIDES = ["b", "a"] as const;

const signed = (ns: number): string => (ns === 0 ? duration(0) : `${ns > 0 ? "+" : "−"}${duration(Math.abs(ns))}`);
const captionOf = ({ a, b }: Sides): string => text.caption(duration(a), duration(b), signed(b - a), a > 0 && b > 0 ? change(b / a) : "");

function Picture({ sides, side, name }: { sides: Sides[]; side: "a" | "b"; name: string }) {
  const [zoom, setZoom] = useQuery("zoom");
  const [mark, setMark] = useQuerySoon("mark");
  const theme = useTheme();
  const tree = useMemo(() => treeOfSide(sides, side), [sides, side]);
  const tokens = useMemo(() => ({ none: token("--surface-2"), more: token("--more"), less: token("--less") }), [theme]); // eslint-disable-line react-hooks/exhaustive-deps
  const paint = useCallback((node: number) => colourOf(sides[node]!, tokens), [sides, tokens]);
  const caption = useCallback((node: number) => captionOf(sides[node]!), [sides]);
  const focus = useMemo(() => nodeAt(tree, zoom), [tree, zoom]);
  const marked = useMemo(() => nodeAt(tree, mark), [tree, mark]);
  const pathAt = (node: number): string => (node === 0 ? "" : String(tree[node]!.path));
  return <Icicle tree={tree} label={text.picture(name)} focus={focus} onFocus={(node) => setZoom(pathAt(node))} found={null} chosen={mark ? marked : focus} onChoose={(node) => setMark(pathAt(node))} paint={paint} caption={caption} />;
}

export function Difference({ a, b }: { a: string[]; b: string[] }) {
  const [wanted, setTree] = useQuery("tree", "waits");
  const [width, setWidth] = useQuery("width", "b");
  const [, setZoom] = useQuery("zoom");
  const [, setMark] = useQuerySoon("mark");
  const which = TREES.find((one) => one === wanted) ?? "waits";
  const side = width === "a" ? "a" : "b";
  const asked = useApi("compare_flame", { a: a.join(","), b: b.join(","), tree: which });
  const name = `${text.trees[which]!}: ${text.all}`;
  const sides = useMemo(() => (asked.data ? sidesOf(asked.data, name) : undefined), [asked.data, name]);
  const without = [asked.data?.a_without ?? 0, asked.data?.b_without ?? 0] as const;
  return (
    <Panel title={text.title} aside={<Legend />}>
      <div className="panel-body row">
        <Choices
          label={text.which}
          value={which}
          options={TREES.map((value) => ({ value, label: text.trees[value]! }))}
          onChange={(value) => {
            setZoom("");
            setMark("");
            setTree(value);
          }}
        />
        <span className="small quiet end">{text.widths}</span>
        <Choices label={text.widths} value={side} options={SIDES.map((value) => ({ value, label: text.width[value]! }))} onChange={setWidth} />
      </div>
      {asked.problem && !asked.data && <ProblemView problem={asked.problem} again={asked.again} />}
      {!sides && !asked.problem && <Skeleton rows={3} />}
      {sides && sides.length === 1 && <p className="panel-body quiet">{`${text.none} ${text.noneText[which]}`}</p>}
      {sides && sides.length > 1 && <Picture key={which} sides={sides} side={side} name={text.trees[which]!} />}
      {sides && sides.length > 1 && without[0] + without[1] > 0 && <p className="panel-body quiet small">{text.without(count(without[0]), count(without[1]))}</p>}
      {asked.data?.cut_ns ? <p className="panel-body quiet small">{text.cut(duration(asked.data.cut_ns))}</p> : null}
    </Panel>
  );
}

function Legend() {
  return (
    <span className="row small difference-legend">
      {(["more", "less"] as const).map((what) => (
        <span key={what} className="row">
          <svg viewBox="0 0 10 10" aria-hidden="true">
            <rect className={`difference-${what}`} width="10" height="10" />
          </svg>
          {text.legend[what]}
        </span>
      ))}
    </span>
  );
}
