// Details.tsx - the exact values of the selected event: times, its source line and stack, how a
// kernel was launched, and its links between host and GPU.
import { useEffect } from "react";
import { Link } from "../router/Link";
import { href } from "../router/router";
import { client } from "../api/client";
import { vendorOf } from "../api/vendor";
import { count, duration, exact, grouped, percent, UNKNOWN } from "../format/format";
import { wordsOf } from "../text/kernel";
import { syncs as waitText } from "../text/syncs";
import { timelineText as text } from "../text/timeline";
import { placeText } from "../format/place";
import { CopyName } from "../ui/Name";
import { exactTime } from "./axis";
import { nameOfCause } from "./causes";
import { capturedOf, configOf, stackOf } from "./calls";
import { factsOfConfig } from "./config";
import type { Engine } from "./engine";
import { flowsOf, launchOf, type Launch } from "./flows";
import type { Hit, HitEvent } from "./hit";
import { KIND, type Lane } from "./lanes";
import { markOf } from "./marked";
import type { Place } from "./lines";
import type { Picked } from "./scene";
import { LineButton, StackList } from "./Stack";
import { useAsked } from "./use";
import { useWaitLine, Verdict } from "./waitLine";

function Fact({ label, children, title }: { label: string; children: React.ReactNode; title?: string | undefined }) {
  return (
    <div className="tl-fact">
      <dt>{label}</dt>
      <dd title={title}>{children}</dd>
    </div>
  );
}

export function laneTitle(engine: Engine, lane: Lane): string {
  const track = engine.scene.tracks.find((other) => other.key === lane.id);
  return track ? `${track.title}, ${track.note}` : "";
}

const TITLE = 180; // letters; names may have 4 kB, and "Full name" shows all of them
const cut = (name: string): string => (name.length > TITLE ? `${name.slice(0, TITLE)}…` : name);

const hasName = (kind: number): boolean => kind < KIND.sample || kind === KIND.mark;

export function titleOf(engine: Engine, picked: Picked): string {
  const lane = engine.scene.lanes.find((other) => other.id === picked.track);
  const { lines, names } = engine.scene;
  const kind = lane?.kind ?? 0;
  if (kind === KIND.gap) return text.idle(nameOfCause(lines.causes[lane!.depth]));
  if (kind === KIND.state) return text.states[picked.hit.name] ?? text.one[kind]!;
  if (kind === KIND.sample && picked.hit.kind === "event") return lines.line(picked.hit.stack)?.place ?? text.one[kind]!;
  const name = hasName(kind) ? names.short(picked.hit.name) : "";
  if (name) return cut(name);
  return text.one[kind] ?? text.unnamed;
}

const TIP = 1000; // letters of a whole name in a tooltip

/** The whole name of an event, for a tooltip; "": its title says as much. */
export function fullOf(engine: Engine, picked: Picked): string {
  const lane = engine.scene.lanes.find((other) => other.id === picked.track);
  const full = lane && hasName(lane.kind) ? engine.scene.names.text(picked.hit.name) : "";
  if (full === "" || full === titleOf(engine, picked)) return "";
  return full.length > TIP ? `${full.slice(0, TIP)}…` : full;
}

function Times({ hit }: { hit: Hit }) {
  return (
    <>
      <Fact label={text.start} title={exact(hit.start, "ns")}>
        {exactTime(hit.start)}
      </Fact>
      {hit.duration > 0 && (
        <>
          <Fact label={text.end} title={exact(hit.start + hit.duration, "ns")}>
            {exactTime(hit.start + hit.duration)}
          </Fact>
          <Fact label={text.duration} title={exact(hit.duration, "ns")}>
            {duration(hit.duration)} <span className="quiet">{grouped(hit.duration)} ns</span>
          </Fact>
        </>
      )}
    </>
  );
}

/** place: of the launch; the kernel's page opens at that line. */
function KernelLink({ session, name, place }: { session: string; name: string; place: Place | null }) {
  const asked = useAsked(`kernels ${session} ${name}`, (signal) => client.get("kernels", { session, limit: 10_000 }, signal));
  const at = asked.data?.names.indexOf(name) ?? -1;
  const row = at < 0 ? -1 : (asked.data?.data.name.indexOf(at) ?? -1);
  const id = row < 0 ? null : asked.data?.data.name_id[row];
  if (id === null || id === undefined) return null;
  const line = place?.file && place.line !== null ? placeText({ file: place.file, line: place.line }) : "";
  return <Link href={href("kernel", { session, name: id }, { line })}>{text.shapes}</Link>;
}

/** How a kernel was launched. */
function Launched({ session, launch }: { session: string; launch: Launch }) {
  const id = launch.config ?? 0;
  const own = useAsked(`session ${session}`, (signal) => client.get("session", { session }, signal));
  const config = useAsked(id ? `config ${session} ${id}` : null, (signal) => configOf(session, id, signal));
  return (
    <>
      {config.data && (own.data || own.problem) && factsOfConfig(config.data, wordsOf(vendorOf(own.data))).map(([label, value]) => <Fact key={label} label={label}>{value}</Fact>)}
      {launch.graph ? <Fact label={text.graph}>{launch.graph}</Fact> : null}
      {launch.thread !== null && <Fact label={text.threadLabel}>{launch.thread}</Fact>}
    </>
  );
}

/** What a captured launch says about the time before it. */
function Away({ engine, lane, hit }: { engine: Engine; lane: Lane; hit: HitEvent }) {
  const asked = useAsked(`away ${lane.id} ${hit.start}`, (signal) => capturedOf(engine.session, [lane.ref], hit.ref, hit.start, hit.start + 1, signal));
  const own = asked.data?.[0]?.own ?? null;
  return own === null ? null : (
    <Fact label={text.away} title={exact(own, "ns")}>
      {duration(own)}
    </Fact>
  );
}

/** The domain, thread and payload of a mark. */
function MarkFacts({ session, lane, hit, name }: { session: string; lane: Lane; hit: HitEvent; name: string }) {
  const asked = useAsked(`mark ${lane.id} ${hit.start} ${hit.name}`, (signal) => markOf(session, lane.ref, hit.start, name, signal));
  const mark = asked.data;
  return (
    <>
      <Fact label={text.domain}>{mark ? (mark.domain ?? UNKNOWN) : asked.problem ? asked.problem.message : "…"}</Fact>
      <Fact label={text.threadLabel}>{lane.ref}</Fact>
      {mark?.payload ? <Fact label={text.payload}>{mark.payload}</Fact> : null}
    </>
  );
}

/** Whether a loop waits at the line of a wait; nothing if the report has no such line. */
function WaitVerdict({ session, place }: { session: string; place: Place | null }) {
  const line = useWaitLine(session, place?.file && place.line !== null ? { file: place.file, line: place.line } : null);
  return line ? (
    <Fact label={waitText.columns.verdict}>
      <Verdict line={line} />
    </Fact>
  ) : null;
}

const hasStack = (kind: number): boolean => kind === KIND.wait || kind === KIND.sync || kind === KIND.kernel || kind === KIND.sample || kind === KIND.launch || kind === KIND.gap || kind === KIND.state;
const REFS: Record<number, string> = { [KIND.sample]: text.samples, [KIND.state]: text.samples };
const hasRef = (kind: number): boolean => kind !== KIND.gap && kind !== KIND.scope && kind !== KIND.mark; // those of scopes are numbers of the log

function EventDetails({ engine, lane, picked }: { engine: Engine; lane: Lane; picked: Picked & { hit: HitEvent } }) {
  const { hit } = picked;
  const { session, scene } = engine;
  const { ref } = hit;
  const name = hasName(lane.kind) ? engine.names.text(hit.name) : "";
  const key = `${picked.track} ${hit.start} ${ref}`;
  const launch = useAsked(lane.kind === KIND.kernel ? key : null, (signal) => launchOf(session, lane.ref, hit.start, signal));
  const known = lane.kind !== KIND.kernel || launch.data !== undefined;
  const stack = useAsked(known && hasStack(lane.kind) ? `${key} ${hit.stack}` : null, (signal) => stackOf(session, engine.looked, lane, hit, launch.data ?? null, signal));
  const flows = useAsked(known && hasFlows(lane.kind) ? key : null, (signal) =>
    flowsOf({ session, lanes: scene.lanes, threads: engine.looked }, lane, { lane: lane.id, start: hit.start, duration: hit.duration, name: hit.name, ref }, launch.data ?? null, signal),
  );
  useEffect(() => engine.setFlows(flows.data ?? []), [engine, flows.data]);
  const row = launch.data;
  return (
    <>
      <h2 className="tl-name mono">{titleOf(engine, picked)}</h2>
      <div className="tl-event">
      <dl className="tl-facts">
        {hasStack(lane.kind) && <Fact label={lane.kind === KIND.gap && ref === 1 ? text.endedBy : text.line}>{stack.data === undefined && !stack.problem ? "…" : <LineButton place={scene.lines.line(stack.data ?? 0)} />}</Fact>}
        {lane.kind === KIND.wait && <WaitVerdict session={session} place={scene.lines.line(stack.data ?? 0)} />}
        <Times hit={hit} />
        {lane.kind === KIND.gap && <Fact label={text.cause}>{scene.lines.causes[lane.depth]?.text ?? UNKNOWN}</Fact>}
        <Fact label={text.lane}>{laneTitle(engine, lane)}</Fact>
        {lane.kind === KIND.mark && <MarkFacts session={session} lane={lane} hit={hit} name={name} />}
        {lane.kind === KIND.launch && <Away engine={engine} lane={lane} hit={hit} />}
        {Number.isFinite(ref) && hasRef(lane.kind) && <Fact label={REFS[lane.kind] ?? text.correlation}>{ref}</Fact>}
        {row && <Launched session={session} launch={row} />}
        {hasFlows(lane.kind) && <Fact label={text.flowTitle}>{flows.data ? (flows.data.length ? text.flows(count(flows.data.length)) : text.noFlow) : flows.problem ? flows.problem.message : "…"}</Fact>}
      </dl>
      {hasStack(lane.kind) && stack.data ? <StackList engine={engine} stack={stack.data} /> : null}
      </div>
      {name && (
        <div className="row small">
          {lane.kind === KIND.kernel && <KernelLink session={session} name={name} place={scene.lines.line(stack.data ?? 0)} />}
          <details className="tl-full">
            <summary>{text.full}</summary>
            <p className="mono wrap">{name}</p>
          </details>
          <CopyName full={name} />
        </div>
      )}
    </>
  );
}

const hasFlows = (kind: number): boolean => kind !== KIND.sample && kind !== KIND.state && kind !== KIND.gap && kind !== KIND.mark;

function SumDetails({ engine, lane, picked }: { engine: Engine; lane: Lane; picked: Picked }) {
  const { hit } = picked;
  if (hit.kind !== "sum") return null;
  const name = hasName(lane.kind) ? engine.names.short(hit.name) : "";
  return (
    <>
      <h2 className="tl-name">{text.sumOf(count(hit.events), duration(hit.duration))}</h2>
      <p className="quiet small">{lane.kind === KIND.gap ? text.sumGaps : lane.kind === KIND.mark ? text.sumMarks : text.sumText}</p>
      <dl className="tl-facts">
        <Times hit={hit} />
        <Fact label={text.lane}>{laneTitle(engine, lane)}</Fact>
        <Fact label={text.events}>{grouped(hit.events)}</Fact>
        {lane.kind !== KIND.mark && (
          <Fact label={text.busy} title={exact(hit.busy, "ns")}>
            {duration(hit.busy)} <span className="quiet">{percent(hit.busy / hit.duration)}</span>
          </Fact>
        )}
        {hit.longest > 0 && (
          <Fact label={text.longest} title={exact(hit.longest, "ns")}>
            {duration(hit.longest)}
          </Fact>
        )}
        {name && <Fact label={lane.kind === KIND.mark ? text.oftenest : text.mostly}>{name}</Fact>}
      </dl>
    </>
  );
}

export function Details({ engine, picked }: { engine: Engine; picked: Picked }) {
  const lane = engine.scene.lanes.find((other) => other.id === picked.track);
  if (!lane) return null;
  return picked.hit.kind === "event" ? <EventDetails engine={engine} lane={lane} picked={{ ...picked, hit: picked.hit }} /> : <SumDetails engine={engine} lane={lane} picked={picked} />;
}
