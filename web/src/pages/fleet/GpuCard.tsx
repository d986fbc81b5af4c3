// GpuCard.tsx - a GPU at a glance: its state by word, shape and colour, and the numbers that the
// state rests on.
import { bytes, count, duration, epochMs, exact, exactDate, UNKNOWN } from "../../format/format";
import { Link } from "../../router/Link";
import { href } from "../../router/router";
import { fleet as text } from "../../text/fleet";
import { wordsOf } from "../../text/kernel";
import { Meter } from "../../ui/parts";
import type { Gpu, Tone } from "./health";

/** Shapes of states: a triangle, a square on its tip, a disc, a ring. */
const SHAPES: Record<Tone, string> = { bad: "M6 0l6 12H0z", warn: "M6 0l6 6-6 6-6-6z", good: "M6 1a5 5 0 1 0 0 10A5 5 0 0 0 6 1", none: "M6 1a5 5 0 1 0 0 10A5 5 0 0 0 6 1m0 2a3 3 0 1 1 0 6 3 3 0 0 1 0-6" };

export function HealthMark({ gpu }: { gpu: Gpu }) {
  return (
    <span className={`health health-${gpu.tone} ${gpu.health === "silent" ? "health-silent" : ""}`} title={text.healthText[gpu.health]}>
      <svg viewBox="0 0 12 12" aria-hidden="true">
        <path d={SHAPES[gpu.tone]} />
      </svg>
      {text.health[gpu.health]}
    </span>
  );
}

const DAY_S = 86_400;

export const seenText = (seen: string | null, nowMs: number): string => {
  const ms = epochMs(seen);
  if (ms === null) return UNKNOWN;
  const seconds = Math.round((nowMs - ms) / 1000);
  return seconds < 5 ? text.now : text.ago(seconds < 120 ? `${seconds} s` : seconds < 2 * DAY_S ? duration(seconds * 1e9) : text.days(count(Math.floor(seconds / DAY_S))));
};

export const watts = (mw: number | null): string => (mw === null ? UNKNOWN : `${Math.round(mw / 1000)} W`);
export const celsius = (value: number | null): string => (value === null ? UNKNOWN : `${value} °C`);
export const megahertz = (value: number | null): string => (value === null ? UNKNOWN : `${value} MHz`);
/** Why a GPU's clocks are low, in the words of its vendor. */
export const reasonsOf = (gpu: Pick<Gpu, "sample" | "vendor">): string => gpu.sample.throttle_reasons.filter((reason) => reason !== "idle").map((reason) => wordsOf(gpu.vendor).reasons[reason] ?? text.reasons[reason] ?? reason).join(", ");

/** A bar in a grid; an unknown value keeps its place, and has no bar. */
const PartBar = ({ part }: { part: number | null }) => (part === null ? <span /> : <Meter part={part} />);

/** short: the part of the UUID that distinguishes the GPUs of the page. */
export function GpuCard({ gpu, short, now }: { gpu: Gpu; short: string; now: number }) {
  const s = gpu.sample;
  const total = s.memory_total ?? gpu.memory;
  const c = text.columns;
  return (
    <article className={`gpu-card gpu-${gpu.tone} ${gpu.health === "silent" ? "gpu-silent" : ""}`} aria-label={`${gpu.host} ${gpu.number ?? ""} ${gpu.name} ${gpu.uuid}`}>
      <header className="row">
        <strong>GPU {gpu.number ?? UNKNOWN}</strong>
        <HealthMark gpu={gpu} />
      </header>
      <span className="small quiet wrap" title={`${gpu.name} · ${gpu.uuid}`}>
        {gpu.name} <span className="mono">{short}</span>
      </span>
      {gpu.health === "silent" && <span className="small quiet">{text.lastKnown}</span>}
      <div className="gpu-meters small">
        <span>{c.util}</span>
        <PartBar part={s.gpu_util === null ? null : s.gpu_util / 100} />
        <span className="number">{s.gpu_util === null ? UNKNOWN : `${s.gpu_util} %`}</span>
        <span>{c.memory}</span>
        <PartBar part={s.memory_used !== null && total ? s.memory_used / total : null} />
        <span className="number" title={exact(s.memory_used, "bytes")}>
          {bytes(s.memory_used)}
        </span>
      </div>
      <div className="row small gpu-numbers number">
        <span title={c.power}>{watts(s.power)}</span>
        <span title={c.temperature} className={gpu.health === "hot" ? "gpu-hot" : ""}>
          {celsius(s.temperature)}
        </span>
        <span title={text.clockOf([gpu.vendor])}>{megahertz(s.clock_sm)}</span>
        {s.processes !== null && <span title={c.processes}>{s.processes} proc.</span>}
      </div>
      {reasonsOf(gpu) && <span className="small">{reasonsOf(gpu)}</span>}
      <footer className="row small quiet">
        {gpu.sessions ? <Link href={href("sessions", {}, { gpu: gpu.uuid, state: "live" })}>{text.sessionsOf(gpu.sessions)}</Link> : null}
        <span className="end" title={exactDate(gpu.seen)}>
          {seenText(gpu.seen, now)}
        </span>
      </footer>
    </article>
  );
}
