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

/** Bars over the whole range of the bins; a single bin fills a part of the middle. */
export function barsOf(bins: readonly Bin[]): Bar[] {
  const known = bins.filter((bin): bin is { least: number; most: number; calls: number } => bin.least !== null && bin.most !== null && bin.calls !== null);
  if (known.length === 0) return [];
  const log = (value: number) => Math.log2(Math.max(1, value));
  const low = log(Math.min(...known.map((bin) => bin.least))) - 0.1;
  const high = log(Math.max(...known.map((bin) => bin.most + 1))) + 0.1;
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
  const first = bins[0]?.least ?? null;
  const last = bins.at(-1)?.most ?? null;
  return (
    <figure className="figure">
      <svg className="histogram" viewBox="0 0 1000 180" preserveAspectRatio="none" role="img" aria-label={bars.map((bar) => bar.label).join("; ")}>
        {bars.map((bar) => (
          <rect key={bar.label} x={bar.x * 1000} width={Math.max(1.5, bar.width * 1000 - 1)} y={180 - Math.max(2, bar.height * 176)} height={Math.max(2, bar.height * 176)}>
            <title>{bar.label}</title>
          </rect>
        ))}
      </svg>
      <figcaption className="row small quiet number">
        <span>{duration(first)}</span>
        <span className="end">{duration(last)}</span>
      </figcaption>
    </figure>
  );
}
