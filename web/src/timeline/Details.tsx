// Details.tsx - the exact values of what is selected, and its links between host and GPU.
import { useEffect } from "react";
import { Link } from "../router/Link";
import { href } from "../router/router";
import { client } from "../api/client";
import { count, duration, exact, grouped, percent } from "../format/format";
import { timelineText as text } from "../text/timeline";
import { exactTime } from "./axis";
import type { Engine } from "./engine";
import { flowsOf, launchOf } from "./flows";
import type { Hit } from "./hit";
import { KIND, type Lane } from "./lanes";
import type { Picked } from "./scene";
import { useAsked } from "./use";

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

const TITLE = 180; // letters; names have 4 kB at times, and "Full name" has them all
const cut = (name: string): string => (name.length > TITLE ? `${name.slice(0, TITLE)}…` : name);

export function titleOf(engine: Engine, picked: Picked): string {
  const lane = engine.scene.lanes.find((other) => other.id === picked.track);
  const name = engine.names.short(picked.hit.name);
  if (name) return cut(name);
  return text.one[lane?.kind ?? 0] ?? text.unnamed;
}

function Times({ hit }: { hit: Hit }) {
  return (
    <>
      <Fact label={text.start} title={exact(hit.start, "ns")}>
        {exactTime(hit.start)}
      </Fact>
      <Fact label={text.end} title={exact(hit.start + hit.duration, "ns")}>
        {exactTime(hit.start + hit.duration)}
      </Fact>
      <Fact label={text.duration} title={exact(hit.duration, "ns")}>
        {duration(hit.duration)} <span className="quiet">{grouped(hit.duration)} ns</span>
      </Fact>
    </>
  );
}

function KernelLink({ session, name }: { session: string; name: string }) {
  const asked = useAsked(`kernels ${session} ${name}`, (signal) => client.get("kernels", { session, limit: 10_000 }, signal));
  const at = asked.data?.names.indexOf(name) ?? -1;
  const row = at < 0 ? -1 : (asked.data?.data.name.indexOf(at) ?? -1);
  const id = row < 0 ? null : asked.data?.data.name_id[row];
  if (id === null || id === undefined) return null;
  return <Link href={href("kernel", { session, name: id })}>{text.shapes}</Link>;
}

function EventDetails({ engine, lane, picked }: { engine: Engine; lane: Lane; picked: Picked }) {
  const { hit } = picked;
  const { session, scene } = engine;
  const ref = hit.kind === "event" ? hit.ref : NaN;
  const name = engine.names.text(hit.name);
  const key = `${picked.track} ${hit.start} ${ref}`;
  const launch = useAsked(lane.kind === KIND.kernel ? key : null, (signal) => launchOf(session, lane.ref, hit.start, signal));
  const known = lane.kind !== KIND.kernel || launch.data !== undefined;
  const flows = useAsked(known ? key : null, (signal) =>
    flowsOf(session, scene.lanes, lane, { lane: lane.id, start: hit.start, duration: hit.duration, name: hit.name, ref }, launch.data ?? null, signal),
  );
  useEffect(() => engine.setFlows(flows.data ?? []), [engine, flows.data]);
  const row = launch.data;
  return (
    <>
      <h2 className="tl-name mono">{titleOf(engine, picked)}</h2>
      <dl className="tl-facts">
        <Times hit={hit} />
        <Fact label={text.lane}>{laneTitle(engine, lane)}</Fact>
        {Number.isFinite(ref) && <Fact label={lane.kind === KIND.scope ? text.instance : text.correlation}>{ref}</Fact>}
        {row && (
          <>
            <Fact label={text.config}>{row.config ?? "–"}</Fact>
            {row.graph ? <Fact label={text.graph}>{row.graph}</Fact> : null}
            {row.scope ? <Fact label={text.scope}>{row.scope}</Fact> : null}
            <Fact label={text.threadLabel}>{row.thread ?? "–"}</Fact>
            {row.stack ? <Fact label={text.stack}>{row.stack}</Fact> : null}
          </>
        )}
        <Fact label={text.flowTitle}>{flows.data ? (flows.data.length ? text.flows(count(flows.data.length)) : text.noFlow) : flows.problem ? flows.problem.message : "…"}</Fact>
      </dl>
      {name && (
        <div className="row small">
          {lane.kind === KIND.kernel && <KernelLink session={session} name={name} />}
          <details className="tl-full">
            <summary>{text.full}</summary>
            <p className="mono wrap">{name}</p>
          </details>
        </div>
      )}
    </>
  );
}

function SumDetails({ engine, lane, picked }: { engine: Engine; lane: Lane; picked: Picked }) {
  const { hit } = picked;
  if (hit.kind !== "sum") return null;
  const name = engine.names.short(hit.name);
  return (
    <>
      <h2 className="tl-name">{text.sumOf(count(hit.events), duration(hit.duration))}</h2>
      <p className="quiet small">{text.sumText}</p>
      <dl className="tl-facts">
        <Times hit={hit} />
        <Fact label={text.lane}>{laneTitle(engine, lane)}</Fact>
        <Fact label={text.events}>{grouped(hit.events)}</Fact>
        <Fact label={text.busy} title={exact(hit.busy, "ns")}>
          {duration(hit.busy)} <span className="quiet">{percent(hit.busy / hit.duration)}</span>
        </Fact>
        <Fact label={text.longest} title={exact(hit.longest, "ns")}>
          {duration(hit.longest)}
        </Fact>
        {name && <Fact label={text.mostly}>{name}</Fact>}
      </dl>
    </>
  );
}

export function Details({ engine, picked }: { engine: Engine; picked: Picked }) {
  const lane = engine.scene.lanes.find((other) => other.id === picked.track);
  if (!lane) return null;
  return picked.hit.kind === "event" ? <EventDetails engine={engine} lane={lane} picked={picked} /> : <SumDetails engine={engine} lane={lane} picked={picked} />;
}
