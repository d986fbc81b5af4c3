// RangeFlame.tsx - the flame graph of a range of the timeline: its kernels by the stack that launched
// them, the waits of the host by stack, or what its threads did by samples.
import { useContext } from "react";
import { count, percent } from "../format/format";
import { useQuery } from "../router/router";
import { timelineText as text } from "../text/timeline";
import { Choices, CopyButton } from "../ui/forms";
import { Skeleton } from "../ui/parts";
import type { Engine } from "./engine";
import { KIND } from "./lanes";
import { OutsideContext, type FlameStack } from "./outside";
import { collapsed, knownPart, launchStacks, sampleStacks, type RangeStacks } from "./rangeFlame";
import { useAsked } from "./use";
import type { View } from "./view";

const ALL_BUT = 0.995; // of the kernels' time; a smaller missing part is not mentioned
const KINDS = ["gpu", "waits", "samples"] as const;
type Kind = (typeof KINDS)[number];

/** Threads of which there are rows of a kind. */
const threadsOf = (engine: Engine, kinds: readonly number[]): number[] => [...new Set(engine.scene.lanes.filter(({ kind }) => kinds.includes(kind)).map(({ ref }) => ref))];

function titleOf(engine: Engine, thread: number): string {
  const { lanes, tracks } = engine.scene;
  return tracks.find(({ lane }) => lanes[lane]?.ref === thread && (lanes[lane]!.kind === KIND.sample || lanes[lane]!.kind === KIND.state))?.title ?? text.thread(thread);
}

async function stacksOf(engine: Engine, range: View, signal: AbortSignal): Promise<Record<"gpu" | "samples", RangeStacks>> {
  const where = { session: engine.session, lines: engine.scene.lines, range: { from: Math.floor(range.from), to: Math.ceil(range.to) } };
  const [gpu, samples] = await Promise.all([
    launchStacks(where, threadsOf(engine, [KIND.launch]), { stack: text.noStack, name: text.unnamed }, signal),
    sampleStacks(where, threadsOf(engine, [KIND.sample, KIND.state]), (thread) => titleOf(engine, thread), text.noStack, signal),
  ]);
  return { gpu, samples };
}

/** waits: the stacks of the range's waits; cut: not all of them. */
export function RangeFlame({ engine, range, waits, cut }: { engine: Engine; range: View; waits: readonly FlameStack[]; cut: boolean }) {
  const { Flame } = useContext(OutsideContext);
  const [wanted, setKind] = useQuery("flame");
  const asked = useAsked(`${engine.session} ${range.from} ${range.to}`, (signal) => stacksOf(engine, range, signal));
  if (asked.problem) return <p role="alert">{asked.problem.message}</p>;
  if (!asked.data || !Flame) return <Skeleton rows={3} />;
  const all: Record<Kind, RangeStacks> = { ...asked.data, waits: { stacks: [...waits], cut, full: new Map() } };
  const kind = KINDS.find((one) => one === wanted) ?? KINDS.find((one) => knownPart(all[one].stacks, text.noStack) > 0) ?? KINDS.find((one) => all[one].stacks.length > 0) ?? "gpu";
  const { stacks, cut: isCut, full } = all[kind];
  const known = knownPart(stacks, text.noStack);
  const most = kind === "samples" ? text.firstSamples : kind === "gpu" ? text.longestKernels : text.waitsCut;
  return (
    <>
      <div className="row">
        <Choices label={text.flameOf} value={kind} options={KINDS.map((value) => ({ value, label: `${text.flames[value]}${all[value].stacks.length ? "" : ` · ${text.noneHere}`}` }))} onChange={setKind} />
        {isCut && <span className="quiet small">{most(count(20_000))}</span>}
        {stacks.length > 0 && (
          <span className="end">
            <CopyButton text={collapsed(stacks)} label={text.copyStacks} />
          </span>
        )}
      </div>
      {kind === "gpu" && stacks.length > 0 && known < ALL_BUT && <p className="quiet small">{text.launchesWithout(percent(known))}</p>}
      {stacks.length > 0 ? <Flame key={kind} stacks={stacks} name={text.flamesInRange[kind]} samples={kind === "samples"} fullOf={(name) => full.get(name) ?? name} /> : <p className="quiet">{text.noneHere}</p>}
    </>
  );
}
