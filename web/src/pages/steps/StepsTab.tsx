// StepsTab.tsx - the steps that a run repeats: how long they last, where each is on the timeline,
// and what slow steps have more of than the step of median length, or each step than a chosen one.
import type { ColumnDef, SortingState } from "@tanstack/react-table";
import { useMemo, useState } from "react";
import { onSession, useApi } from "../../api/use";
import { count, duration, exact, moments } from "../../format/format";
import { Link } from "../../router/Link";
import { go, href, usePlace, withQuery } from "../../router/router";
import { insights } from "../../text/insights";
import { system } from "../../text/system";
import { steps as text } from "../../text/steps";
import { Empty, Panel, ProblemView, Skeleton } from "../../ui/parts";
import { Table } from "../../ui/Table";
import { longestOf } from "../insights/evidence";
import { isOver } from "../session/facts";
import type { TabProps } from "../session/tabs";
import { baseOf, differencesOf, digitsOf, SLOW, stepsOf, type Difference, type Step, type Steps } from "./steps";
import { StepsPlot } from "./StepsPlot";

const LIVE_MS = 5000;
const head = text.columns;
type Col = ColumnDef<Step>;

const placeOf = (step: Step) => longestOf({ longest_start_ns: step.start, longest_ns: step.duration }) ?? {};

const time = (id: "duration" | "busy" | "idle"): Col => ({
  id,
  accessorFn: (step) => step[id],
  header: head[id],
  meta: { width: "minmax(96px, 1fr)", right: true },
  cell: ({ row: { original: step } }) => <span title={exact(step[id], "ns")}>{duration(step[id])}</span>,
});

const signed = ({ what, by }: Difference): string => text.differences[what](`${by > 0 ? "+" : ""}${what === "kernels" ? count(by).replace("-", "−") : duration(by)}`);

interface Reference {
  base: Step | null;
  chosen: boolean; // by the reader: each step is compared, not only unusual ones
  devices: number;
  settled: boolean;
  digits: 3 | 6; // decimals of a step's begin
}

function State({ step, of: { base, chosen, devices, settled } }: { step: Step; of: Reference }) {
  const isStartUp = settled && !step.steady;
  const differences = base && (chosen || step.slow || isStartUp || !step.alike) ? differencesOf(step, base, devices) : [];
  return (
    <span className="step-state small" title={differences.map(signed).join(", ")}>
      {step.slow && <span className="chip chip-warn">{text.isSlow}</span>}
      {isStartUp && <span className="chip">{text.isStartUp}</span>}
      {!step.alike && <span className="chip">{text.isOther}</span>}
      {chosen && step === base && <span className="chip">{text.isBase}</span>}
      {differences.length > 0 && <span className="differences">{differences.map(signed).join(", ")}</span>}
    </span>
  );
}

const columnsFor = (session: string, reference: Reference): Col[] => [
  { id: "number", accessorFn: (step) => step.number, header: head.number, sortDescFirst: false, meta: { width: "80px", right: true }, cell: ({ row: { original: step } }) => count(step.number) },
  {
    id: "start",
    accessorFn: (step) => step.start,
    header: head.start,
    sortDescFirst: false,
    meta: { width: "minmax(96px, 1fr)", right: true },
    cell: ({ row: { original: step } }) => (
      <Link className="launch-start" href={href("session", { session, tab: "timeline" }, placeOf(step))} title={`${exact(step.start, "ns")}. ${system.onTimeline}`} aria-label={text.onTimeline(count(step.number), moments(step.start, reference.digits))}>
        {moments(step.start, reference.digits)}
      </Link>
    ),
  },
  time("duration"),
  { id: "ratio", accessorFn: (step) => step.ratio ?? 0, header: head.ratio, meta: { width: "96px", right: true }, cell: ({ row: { original: step } }) => step.ratio?.toFixed(2) },
  time("busy"),
  time("idle"),
  { id: "kernels", accessorFn: (step) => step.kernels ?? -1, header: head.kernels, meta: { width: "96px", right: true }, cell: ({ row: { original: step } }) => <span title={exact(step.kernels)}>{count(step.kernels)}</span> },
  { id: "state", header: head.state, enableSorting: false, meta: { width: "minmax(320px, 3fr)" }, cell: ({ row: { original: step } }) => <State step={step} of={reference} /> },
];

const COLUMNS = ["number", "start", "duration", "ratio", "busy", "idle", "kernels"];

/** The order in the address; without one the longest step comes first. */
function useOrder(): [SortingState, (sorting: SortingState) => void] {
  const { query } = usePlace();
  const by = query.get("sort") ?? "";
  const sorting = [{ id: COLUMNS.includes(by) ? by : "duration", desc: query.get("ascending") !== "true" }];
  const sort = ([first]: SortingState) => first && go(withQuery(location.pathname, query, { sort: first.id, ascending: first.desc ? "" : "true" }), true);
  return [sorting, sort];
}

const ruleOf = ({ by, scope, kernel }: Steps): string => (by === "scope" ? text.byScope(scope) : kernel ? text.byKernel(kernel) : text.byOptimizer);

/** Chooses the step that others are compared with; the choice is in the address. */
function Base({ steps, base, chosen }: { steps: Steps; base: Step; chosen: boolean }) {
  const { query } = usePlace();
  const [typed, setTyped] = useState<string | null>(null); // what the field shows while it has the focus
  const choose = (number: string) => go(withQuery(location.pathname, query, { with: number }), true);
  const type = (value: string) => {
    setTyped(value);
    if (baseOf(steps, value)?.number === Number(value)) choose(value);
  };
  return (
    <p className="row small">
      <label className="row">
        {text.compareWith}
        <input className="field" type="number" min={1} max={steps.items.length} value={typed ?? base.number} onChange={({ target }) => type(target.value)} onBlur={() => setTyped(null)} />
      </label>
      {chosen && (
        <button type="button" onClick={() => choose("")}>
          {text.compareMedian}
        </button>
      )}
    </p>
  );
}

function Summary({ steps, base, chosen }: { steps: Steps; base: Step | null; chosen: boolean }) {
  const slow = steps.items.filter((step) => step.slow).length;
  const after = steps.startUp === null ? text.unsteady[steps.why] : text.startUp(duration(steps.startUp), count(steps.inStartUp));
  return (
    <>
      <p className="steps-found">{[text.found(count(steps.count), duration(steps.median), duration(steps.p95), ruleOf(steps)), after].filter(Boolean).join(" ")}</p>
      <p className="quiet small">
        {[base && text.slow(count(slow), String(SLOW)), base && text.relative(count(base.number), chosen), steps.devices > 1 && text.gpus(count(steps.devices)), steps.leftOut > 0 && text.leftOut(count(steps.items.length), count(steps.count))].filter(Boolean).join(" ")}
      </p>
    </>
  );
}

function Found({ session, steps }: { session: string; steps: Steps }) {
  const [sorting, sort] = useOrder();
  const wanted = usePlace().query.get("with");
  const base = useMemo(() => baseOf(steps, wanted), [steps, wanted]);
  const chosen = base !== null && String(base.number) === wanted;
  const columns = useMemo(() => columnsFor(session, { base, chosen, devices: steps.devices, settled: steps.startUp !== null, digits: digitsOf(steps) }), [session, steps, base, chosen]);
  return (
    <div className="stack">
      <Panel title={text.heading} aside={text.plotText}>
        <div className="panel-body stack">
          <Summary steps={steps} base={base} chosen={chosen} />
          {base && <Base steps={steps} base={base} chosen={chosen} />}
          <StepsPlot items={steps.items} devices={steps.devices} />
        </div>
      </Panel>
      <Table caption={text.caption} rows={steps.items} columns={columns} sorting={sorting} onSort={sort} sortHere />
    </div>
  );
}

export function StepsTab({ session }: TabProps) {
  const pending = session.state === "live" || !session.analyzed;
  const asked = useApi("section_steps", { session: session.id }, { every: pending ? LIVE_MS : 0, on: onSession(session.id), settled: isOver(session) });
  const steps = useMemo(() => (asked.data ? stepsOf(asked.data) : null), [asked.data]);
  if (asked.problem && !steps) return asked.problem.status === 404 && pending ? <Empty title={insights.pending} text={insights.pendingText} /> : <ProblemView problem={asked.problem} again={asked.again} />;
  if (!steps) return <Skeleton rows={8} />;
  if (!steps.by) return <Empty title={text.none} text={steps.older ? text.older : (text.why[steps.why] ?? text.why.nothing_repeats!)} />;
  return <Found session={session.id} steps={steps} />;
}
