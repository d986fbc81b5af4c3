// Histogram.tsx - launches by duration, on a logarithmic axis with the server's bins. The answer
// leaves out bins without launches; their places stay empty.
import { count, duration } from "../../format/format";
import { kernels as kernelTexts } from "../../text/kernels";

export interface Bin {
  least: number | null;
  most: number | null;
  calls: number | null;
}

export interface Bar {
  x: number; // 0 to 1
  width: number;
  height: number;
  label: string;
}

const HEIGHT = 180;
const PAD = 0.1; // doublings on each side

/** The parts of the width to the left of the first bar and to the right of the last one: the labels of the axis stand at the
 * bars' ends. */
export const endsOf = (bars: readonly Bar[]): [number, number] => [Math.min(...bars.map((bar) => bar.x)), 1 - Math.max(...bars.map((bar) => bar.x + bar.width))];

/** Bars over the whole range of the bins; a single bin fills a part of the middle. */
export function barsOf(bins: readonly Bin[]): Bar[] {
  const known = bins.filter((bin): bin is { least: number; most: number; calls: number } => bin.least !== null && bin.most !== null && bin.calls !== null);
  if (known.length === 0) return [];
  const log = (value: number) => Math.log2(Math.max(1, value));
  const low = log(Math.min(...known.map((bin) => bin.least))) - PAD;
  const high = log(Math.max(...known.map((bin) => bin.most + 1))) + PAD;
  const top = Math.max(...known.map((bin) => bin.calls));
  return known.map((bin) => ({
    x: (log(bin.least) - low) / (high - low),
    width: (log(bin.most + 1) - log(bin.least)) / (high - low),
    height: bin.calls / top,
    label: kernelTexts.bar(count(bin.calls), duration(bin.least), duration(bin.most)),
  }));
}

export function Histogram({ bins }: { bins: readonly Bin[] }) {
  const bars = barsOf(bins);
  if (bars.length === 0) return null;
  const [left, right] = endsOf(bars).map((part) => `${Math.max(0, part) * 100}%`);
  const known = (values: (number | null)[]): number[] => values.filter((value) => value !== null);
  const first = Math.min(...known(bins.map((bin) => bin.least)));
  const last = Math.max(...known(bins.map((bin) => bin.most)));
  const most = Math.max(...known(bins.map((bin) => bin.calls)));
  return (
    <figure className="figure">
      <p className="histogram-top small quiet number">{kernelTexts.top(count(most))}</p>
      <svg className="histogram" viewBox={`0 0 1000 ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={bars.map((bar) => bar.label).join("; ")}>
        {bars.map((bar) => (
          <rect key={bar.label} x={bar.x * 1000} width={Math.max(1.5, bar.width * 1000 - 1)} y={HEIGHT - Math.max(2, bar.height * HEIGHT)} height={Math.max(2, bar.height * HEIGHT)}>
            <title>{bar.label}</title>
          </rect>
        ))}
      </svg>
      <figcaption className="row small quiet number" style={{ paddingLeft: left, paddingRight: right }}>
        <span>{duration(first)}</span>
        <span className="end">{duration(last)}</span>
      </figcaption>
    </figure>
  );
}
