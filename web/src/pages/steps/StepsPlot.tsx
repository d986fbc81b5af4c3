// StepsPlot.tsx - the length of each step over its number: the time for which the GPU was busy as
// an area, slow steps as dots.
import { useMemo } from "react";
import { count, duration } from "../../format/format";
import { steps as text } from "../../text/steps";
import { PartPlot } from "../../ui/PartPlot";
import { thinned, type Step } from "./steps";

const DRAWN = 2000; // steps; more than the columns of a screen

export function StepsPlot({ items, devices }: { items: readonly Step[]; devices: number }) {
  const values = useMemo(() => {
    const drawn = thinned(items, DRAWN);
    return { number: drawn.map((step) => step.number), duration: drawn.map((step) => step.duration), busy: drawn.map((step) => step.busy / devices), slow: drawn.map((step) => (step.slow ? step.duration : null)) };
  }, [items, devices]);
  return (
    <PartPlot
      label={text.plotLabel(count(items.length))}
      x={{ label: text.step, values: values.number }}
      whole={{ label: text.lasts, values: values.duration }}
      part={{ label: devices > 1 ? text.busyMean(count(devices)) : text.columns.busy, values: values.busy }}
      marked={{ label: text.isSlow, values: values.slow }}
      hint={text.plotHint}
      show={duration}
      showX={count}
    />
  );
}
