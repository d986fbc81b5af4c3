// Answer.tsx - the first panel of a session's insights: what to change first, and one bar of the
// GPUs' whole time. A part of the bar opens its links (TimePart.tsx).
import { useMemo, type CSSProperties } from "react";
import type { Answer, TimePart } from "../../api/report";
import { duration, percent, sentence } from "../../format/format";
import { useQuery } from "../../router/router";
import { insights as text } from "../../text/insights";
import { part } from "../../ui/Boundary";
import { Panel } from "../../ui/parts";
import { mostIdle } from "./causes";
import { Said } from "./Said";
import type { TimeProps } from "./TimePart";

/** What a part leads to is loaded when a part is first chosen. */
const Leads = part(() => import("./TimePart"), (m) => m.TimePart);

/** The colour of a part, which the timeline has, too; a part that is newer than this page is grey. */
const toneOf = (part: string): CSSProperties => ({ fill: `var(--cause-${part}, var(--cause-unknown))` });

/** What a click on a part opens. */
const titleOf = ({ name, part, idle }: TimePart): string => `${name}: ${text.partOpens[part] ?? text.partOpens[idle ? "idle" : "other"]}`;

/** The whole time in one bar, and a list of its parts. */
function Time(props: TimeProps) {
  const [chosen, choose] = useQuery("part");
  const { parts, whole } = props;
  const of = text.barOf[whole.of];
  let at = 0;
  const here = parts.find(({ part }) => part === chosen);
  const toggle = (part: string): void => choose(part === chosen ? "" : part);
  return (
    <figure className="time-bar">
      <svg viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true">
        {parts.map((part) => {
          const from = at;
          at += part.permille;
          return (
            <rect key={part.part} style={toneOf(part.part)} x={from} width={part.permille} height="10" onClick={() => toggle(part.part)}>
              <title>{titleOf(part)}</title>
            </rect>
          );
        })}
      </svg>
      <figcaption role="group" aria-label={text.parts}>
        {parts.map((part) =>
          part.permille > 0 ? (
            <button key={part.part} type="button" aria-pressed={part === here} title={titleOf(part)} onClick={() => toggle(part.part)}>
              <svg viewBox="0 0 10 10" aria-hidden="true">
                <rect style={toneOf(part.part)} width="10" height="10" />
              </svg>
              {part.name} <span className="number">{percent(part.permille / 1000)}</span>
            </button>
          ) : null,
        )}
      </figcaption>
      {of && whole.ns !== null && (
        <p className="quiet small time-of">
          {text.bar(of, duration(whole.ns), whole.devices)}
          {whole.of === "steady_part" && ` ${text.notInBar(duration(whole.startUp), duration(whole.end))}`}
        </p>
      )}
      {here && <Leads part={here} time={props} />}
    </figure>
  );
}

/** The answer of the report, as gpufl report and its JSON give it. */
export function First({ answer, sentences, ...time }: TimeProps & { answer: Answer; sentences: readonly string[] }) {
  // The answer and the other panel of the analysis already have some of the sentences.
  const more = useMemo(() => sentences.filter((line) => !answer.statement.includes(line)), [sentences, answer]);
  return (
    <Panel title={answer.share > 0 ? text.answer : answer.cause === "unknown" ? text.answerUnknown : text.answerNone}>
      <div className="panel-body stack">
        {time.parts.length > 0 && <Time {...time} />}
        <p>
          {answer.share > 0 && (
            <strong>
              {percent(answer.share)}
              {answer.share_error ? ` ± ${percent(answer.share_error)}` : ""}
              {answer.place ? ` ${answer.place}` : ""}:{" "}
            </strong>
          )}
          <Said words={answer.statement} session={time.session} part={undefined} />
        </p>
        <p className="finding-next">
          <strong>{text.next}:</strong> <Said words={answer.next} session={time.session} part={mostIdle(time.parts)} />
        </p>
        {more.length > 0 && (
          <ul className="summary small" aria-label={text.summary}>
            {more.map((line) => (
              <li key={line}>{sentence(line)}</li>
            ))}
          </ul>
        )}
      </div>
    </Panel>
  );
}
