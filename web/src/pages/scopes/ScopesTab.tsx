// ScopesTab.tsx - the tree of scopes: what each took on the host's clock and on the GPU. Parents come
// before their children in the report, so that order and depth are the tree.
import { scopesOf } from "../../api/report";
import { useApi } from "../../api/use";
import { count, duration, exact } from "../../format/format";
import { en } from "../../text/en";
import { Empty, Meter, Panel, ProblemView, Skeleton } from "../../ui/parts";
import type { TabProps } from "../session/tabs";
import { inTreeOrder } from "./tree";

const text = en.scopes;
const head = text.columns;

export function ScopesTab({ session }: TabProps) {
  const asked = useApi("section_scopes", { session: session.id }, session.state === "live" ? 5000 : 0);
  if (asked.problem && !asked.data) return <ProblemView problem={asked.problem} again={asked.again} />;
  if (!asked.data) return <Skeleton rows={8} />;
  const scopes = inTreeOrder(scopesOf(asked.data));
  if (scopes.length === 0) return <Empty title={text.none} text={text.noneText} />;
  const whole = Math.max(...scopes.map((scope) => scope.wall_ns));
  return (
    <Panel title={text.heading} aside={text.aside}>
      <div className="scroll-x" tabIndex={0} role="region" aria-label={text.heading}>
        <table className="simple">
          <thead>
            <tr>
              <th scope="col">{head.name}</th>
              {[head.wall, head.calls, head.mean, head.gpu, head.self, head.kernels, head.waits].map((label) => (
                <th scope="col" className="right" key={label}>
                  {label}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {scopes.map((scope) => (
              <tr key={scope.id}>
                <td style={{ paddingLeft: 12 + 20 * Math.min(scope.depth, 24) }} className="wrap">
                  <strong>{scope.name}</strong>
                  <Meter part={whole > 0 ? scope.wall_ns / whole : null} />
                </td>
                {[scope.wall_ns, null, scope.wall_mean_ns, scope.gpu_ns, scope.self_gpu_ns, null, scope.wait_ns].map((ns, at) => {
                  const amount = at === 1 ? scope.calls : at === 5 ? scope.kernels : null;
                  return (
                    <td className="right" key={at} title={amount === null ? exact(ns, "ns") : exact(amount)}>
                      {amount === null ? duration(ns) : count(amount)}
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  );
}
