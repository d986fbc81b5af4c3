// ScopesTab.tsx - the tree of scopes as an icicle and as a table beside it: what each took on the host's
// clock and on the GPU, and per iteration where a scope is a loop that was measured.
import { useMemo, useState } from "react";
import { scopesOf, type Scope } from "../../api/report";
import { onSession, useApi } from "../../api/use";
import { who } from "../../api/who";
import { count, duration, exact, UNKNOWN } from "../../format/format";
import { Link } from "../../router/Link";
import { href, useQuery } from "../../router/router";
import { trends } from "../../text/trends";
import { flameText } from "../../text/flame";
import { en } from "../../text/en";
import { Empty, Meter, Panel, ProblemView, Skeleton } from "../../ui/parts";
import { Icicle } from "../flame/Icicle";
import { treeOfParts } from "../flame/tree";
import type { TabProps } from "../session/tabs";
import { inTreeOrder, perIteration } from "./tree";

const text = en.scopes;
const head = text.columns;
const LIVE_MS = 5000;

function Time({ ns }: { ns: number | null }) {
  return (
    <td className="right" title={exact(ns, "ns")}>
      {duration(ns)}
    </td>
  );
}

function Count({ of }: { of: number | null }) {
  return (
    <td className="right" title={exact(of)}>
      {count(of)}
    </td>
  );
}

function Row({ scope, whole, loops, chosen, onChoose }: { scope: Scope; whole: number; loops: boolean; chosen: boolean; onChoose: () => void }) {
  const gpu = perIteration(scope.gpu_ns, scope.iterations);
  return (
    <tr className={chosen ? "scope-here" : undefined}>
      <td style={{ paddingLeft: 12 + 20 * Math.min(scope.depth, 24) }} className="wrap">
        <button type="button" className="scope-name" title={scope.name.slice(0, 1000)} aria-pressed={chosen} onClick={onChoose}>
          {scope.name}
        </button>
        {scope.path !== null && !who.link && (
          <Link className="scope-trend small" href={href("trends", {}, { kind: "scope", name: scope.path.join("|") })} aria-label={trends.linkScope(scope.name.slice(0, 200))} title={trends.link}>
            {trends.linkShort}
          </Link>
        )}
        <Meter part={whole > 0 ? scope.wall_ns / whole : null} />
      </td>
      <Time ns={scope.wall_ns} />
      <Count of={scope.calls} />
      <Time ns={scope.wall_mean_ns} />
      <Time ns={scope.gpu_ns} />
      <Time ns={scope.self_gpu_ns} />
      <Count of={scope.kernels} />
      <Time ns={scope.wait_ns} />
      {loops && (scope.iterations ? <Count of={scope.iterations} /> : <td className="right quiet">{UNKNOWN}</td>)}
      {loops && <Time ns={scope.iteration_ns} />}
      {loops && <Time ns={gpu} />}
    </tr>
  );
}

export function ScopesTab({ session }: TabProps) {
  const asked = useApi("section_scopes", { session: session.id }, session.state === "live" ? { every: LIVE_MS, on: onSession(session.id) } : 0);
  const scopes = useMemo(() => (asked.data ? inTreeOrder(scopesOf(asked.data)) : undefined), [asked.data]);
  if (asked.problem && !asked.data) return <ProblemView problem={asked.problem} again={asked.again} />;
  if (!scopes) return <Skeleton rows={8} />;
  if (scopes.length === 0) return <Empty title={text.none} text={text.noneText} />;
  return <Scopes scopes={scopes} />;
}

function Scopes({ scopes }: { scopes: Scope[] }) {
  const [measure, setMeasure] = useQuery("by", "wall");
  const [zoom, setZoom] = useQuery("zoom");
  const [chosen, setChosen] = useState(-1);
  const gpu = measure === "gpu";
  const tree = useMemo(
    () => treeOfParts(scopes.map((scope) => ({ id: scope.id, parent: scope.parent, name: scope.name, value: gpu ? scope.gpu_ns : scope.wall_ns })), flameText.measures[gpu ? "gpu" : "wall"]!),
    [scopes, gpu],
  );
  const focus = zoom ? Math.max(0, tree.findIndex((node) => String(node.path) === zoom && node.id > 0)) : 0;
  const whole = Math.max(...scopes.map((scope) => scope.wall_ns));
  const loops = scopes.some((scope) => scope.iterations);
  const labels = [head.wall, head.calls, head.mean, head.gpu, head.self, head.kernels, head.waits, ...(loops ? [head.iterations, head.perIteration, head.gpuPerIteration] : [])];
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
        <Icicle tree={tree} label={flameText.scopes} focus={focus} onFocus={(node) => setZoom(node === 0 ? "" : String(tree[node]!.path))} found={null} onChoose={setChosen} />
      </Panel>
      <Panel title={text.heading} aside={text.aside}>
        <div className="scroll-x" tabIndex={0} role="region" aria-label={text.heading}>
          <table className="simple">
            <thead>
              <tr>
                <th scope="col">{head.name}</th>
                {labels.map((label) => (
                  <th scope="col" className="right" key={label}>
                    {label}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {scopes.map((scope, at) => (
                <Row
                  key={scope.id}
                  scope={scope}
                  whole={whole}
                  loops={loops}
                  chosen={chosen === at + 1}
                  onChoose={() => {
                    setChosen(at + 1); // nodes stand in the order of the scopes, behind the root
                    setZoom(String(tree[at + 1]!.path));
                  }}
                />
              ))}
            </tbody>
          </table>
        </div>
      </Panel>
    </div>
  );
}
