// AtLine.tsx - the source line from which somebody came to a kernel's page: its text, marked, and
// how much of the kernel's time was launched there.
import { useMemo } from "react";
import { client } from "../../api/client";
import { baseName, duration, exact } from "../../format/format";
import type { SourcePlace } from "../../format/place";
import { useQuery } from "../../router/router";
import { insights } from "../../text/insights";
import { kernel as text } from "../../text/kernel";
import { useAsked } from "../../timeline/use";
import { Panel, ProblemView } from "../../ui/parts";
import { stacksOf } from "../flame/tree";
import { kernelsAt } from "../insights/launched";
import { SourceText } from "../insights/SourceText";
import { useKept } from "../insights/useKept";

const AROUND = 60; // lines around the marked one, to scroll through

export const LINE = "line"; // name of the parameter in the address

/** The time of kernels with that name that was launched at the line; null: no launch there has a
 * stack. */
function useLaunchedHere(session: string, { file, line }: SourcePlace, short: string): number | null {
  const flame = useAsked(`flame ${session}`, () => client.text("flame", { session }));
  return useMemo(() => kernelsAt(stacksOf(flame.data ?? "").get("GPU") ?? [], file, line).find(({ name }) => name === short)?.ns ?? null, [flame.data, file, line, short]);
}

export function AtLine({ session, place, short }: { session: string; place: SourcePlace; short: string }) {
  const [, setLine] = useQuery(LINE);
  const kept = useKept(session, place.file);
  const launched = useLaunchedHere(session, place, short);
  const name = baseName(place.file);
  return (
    <Panel title={text.atLine(`${name}:${place.line}`)} aside={<button type="button" className="button" onClick={() => setLine("")}>{text.withoutLine}</button>}>
      {launched !== null && (
        <p className="panel-body small" title={exact(launched, "ns")}>
          {text.launchedHere(duration(launched))}
        </p>
      )}
      {kept.problem && <ProblemView problem={kept.problem} />}
      {kept.missing && <p className="panel-body quiet">{text.notKept}</p>}
      {kept.text !== null && <SourceText label={insights.inFile(name)} text={kept.text} line={place.line} around={AROUND} />}
    </Panel>
  );
}
