// InsightsTab.tsx - what stands in the program's way, in the server's order: by what it could give
// back. One sentence, the line, the next step; the chip opens the line with what surrounds it.
import { useEffect, useMemo } from "react";
import { onSession, useApi } from "../../api/use";
import { answerOf, casesOf, caveatsOf, timeOf, type Answer, type Case, type TimePart } from "../../api/report";
import { RULES } from "../../api/rules";
import type { RowFinding } from "../../api/schema";
import { baseName, count, duration, exact, percent, sentence } from "../../format/format";
import { Link } from "../../router/Link";
import { href, useQuery } from "../../router/router";
import { en } from "../../text/en";
import { Dialog, Empty, Meter, Panel, ProblemView, Skeleton, Stats } from "../../ui/parts";
import { useGraphRuns } from "../session/graphs";
import type { TabProps } from "../session/tabs";
import { factsOf, longestOf } from "./evidence";
import { excerpt, inOrder, keptPath, onTimeline, textOf } from "./source";

const text = en.insights;
const TONES = ["finding-low", "finding-medium", "finding-high"];
/** A circle, a square standing on its tip, a triangle: severity for those who see no colours. */
const SHAPES = ["M6 2a4 4 0 1 0 0 8 4 4 0 0 0 0-8", "M6 0l6 6-6 6-6-6z", "M6 0l6 12H0z"];

/** What a finding rests on, in the analysis's own terms; the longest wait leads to itself. */
function Evidence({ session, evidence }: { session: string; evidence: Case["evidence"] }) {
  const facts = factsOf(evidence);
  const place = longestOf(evidence);
  if (facts.length === 0) return null;
  return (
    <>
      <Stats items={facts} />
      {place && (
        <p className="panel-body">
          <Link className="small" href={href("session", { session, tab: "timeline" }, place)}>
            {text.longest}
          </Link>
        </p>
      )}
    </>
  );
}

function SourceLine({ session, file, line, evidence, onClose }: { session: string; file: string; line: number; evidence: Case["evidence"]; onClose: () => void }) {
  const sources = useApi("sources", { session });
  const path = sources.data ? keptPath(sources.data.data.path, file) : null;
  const source = useApi("source", path ? { session, path } : null);
  const rows = source.data ? excerpt(textOf(source.data.data.text), line) : [];
  const missing = sources.data && !path;
  return (
    <Dialog title={text.evidence} className="wide-dialog" onClose={onClose}>
      <div className="panel-head">
        <h2 className="mono">
          {baseName(file)}:{line}
        </h2>
        <span className="quiet small wrap">{file}</span>
        <button type="button" className="button end" onClick={onClose}>
          {en.forms.close}
        </button>
      </div>
      <Evidence session={session} evidence={evidence} />
      {(sources.problem || source.problem) && <ProblemView problem={(sources.problem ?? source.problem)!} />}
      {missing && <p className="panel-body quiet">{text.notKept}</p>}
      {rows.length > 0 && (
        <pre className="source">
          {rows.map((row) => (
            <span key={row.number} className={row.number === line ? "source-row source-here" : "source-row"} aria-current={row.number === line || undefined}>
              <span className="source-number">{row.number}</span>
              {row.text}
              {"\n"}
            </span>
          ))}
        </pre>
      )}
    </Dialog>
  );
}

function Finding({ finding: f, next, onLine }: { finding: RowFinding; next: string | undefined; onLine: () => void }) {
  const severity = f.severity ?? 0;
  const rule = RULES[f.rule];
  const place = onTimeline(f);
  return (
    <article className={`finding ${TONES[severity] ?? TONES[0]}`}>
      <div className="finding-main">
        <div className="row">
          <span className="severity">
            <svg viewBox="0 0 12 12" aria-hidden="true">
              <path d={SHAPES[severity] ?? SHAPES[0]} />
            </svg>
            {text.severity[severity]}
          </span>
          <span className="eyebrow">{f.category}</span>
          <span className="chip" title={f.measured ? text.measuredText : text.estimatedText}>
            {f.measured ? text.measured : text.estimated}
          </span>
        </div>
        <h3>{sentence(f.title)}</h3>
        <p>{sentence(f.text)}</p>
        {f.file && (
          <p>
            <button type="button" className="place" onClick={onLine} title={f.file}>
              {baseName(f.file)}:{f.line}
            </button>{" "}
            <span className="quiet small">{f.function}</span>
          </p>
        )}
        {next && (
          <p className="finding-next">
            <strong>{text.next}:</strong> {sentence(next)}
          </p>
        )}
      </div>
      <div className="gain" title={rule ? `${text.bound}: ${rule.bound}` : undefined}>
        <span className="small quiet">{text.giveBack}</span>
        <strong title={exact(f.gives_back, "ns")}>{duration(f.gives_back)}</strong>
        <Meter part={f.share} warm />
        <span className="small number">{text.ofRun(percent(f.share))}</span>
        {place && (
          <Link className="small" href={href("session", { session: f.session, tab: "timeline" }, place)}>
            {text.timeline}
          </Link>
        )}
        {f.kernel && (
          <Link className="small" href={href("session", { session: f.session, tab: "kernels" }, { search: f.kernel.slice(0, 256) })}>
            {text.kernel}
          </Link>
        )}
      </div>
    </article>
  );
}

/** The whole time in one bar, and what its parts are. */
function Time({ parts }: { parts: TimePart[] }) {
  let at = 0;
  return (
    <figure className="time-bar">
      <svg viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true">
        {parts.map((part, n) => {
          const from = at;
          at += part.permille;
          return <rect key={part.part} className={`time-${n % 12}`} x={from} width={part.permille} height="10" />;
        })}
      </svg>
      <figcaption>
        {parts
          .filter((part) => part.permille > 0)
          .map((part) => (
            <span key={part.part} title={exact(part.ns, "ns")}>
              <svg viewBox="0 0 10 10" aria-hidden="true">
                <rect className={`time-${parts.indexOf(part) % 12}`} width="10" height="10" />
              </svg>
              {part.name} <span className="number">{percent(part.permille / 1000)}</span>
            </span>
          ))}
      </figcaption>
    </figure>
  );
}

/** The one answer of the report, as gpufl report and its JSON give it. */
function First({ answer, parts }: { answer: Answer; parts: TimePart[] }) {
  return (
    <Panel title={answer.share > 0 ? text.answer : text.answerNone}>
      <div className="panel-body stack">
        {parts.length > 0 && <Time parts={parts} />}
        <p>
          {answer.share > 0 && (
            <strong>
              {percent(answer.share)}
              {answer.share_error ? ` ± ${percent(answer.share_error)}` : ""}
              {answer.place ? ` ${answer.place}` : ""}:{" "}
            </strong>
          )}
          {sentence(answer.statement)}
        </p>
        <p className="finding-next">
          <strong>{text.next}:</strong> {sentence(answer.next)}
        </p>
      </div>
    </Panel>
  );
}

/** No finding: why, as far as what was recorded tells. */
function Nothing({ session }: TabProps) {
  const runs = useGraphRuns(session, true);
  if (runs === undefined) return <Skeleton rows={3} />;
  return <Empty title={text.none} text={runs ? text.noneGraphs(count(runs)) : session.kernels ? text.noneText : text.noneWithout} />;
}

export function InsightsTab({ session }: TabProps) {
  const pending = session.state === "live" || !session.analyzed;
  const asked = useApi("session_findings", { session: session.id }, { every: pending ? 3000 : 0, on: onSession(session.id) });
  // A live session has a report as soon as it has findings.
  const made = !pending || (asked.data?.rows.length ?? 0) > 0;
  const report = useApi("section_insights", made ? { session: session.id } : null, { every: pending ? 3000 : 0, on: onSession(session.id) });
  const answer = useMemo(() => answerOf(report.data), [report.data]);
  const parts = useMemo(() => timeOf(report.data), [report.data]);
  const cases = useMemo(() => (report.data ? casesOf(report.data) : []), [report.data]);
  const caveats = useMemo(() => caveatsOf(report.data), [report.data]);
  // The analysis came between the two questions: what is shown is older than the session's row.
  const { again } = asked;
  useEffect(() => {
    if (!pending) again();
  }, [pending, again]);
  /** Of an older analysis the finding may be another one. */
  const caseOf = (f: RowFinding): Case | undefined => {
    const found = cases[f.number ?? -1];
    return found?.id === f.rule ? found : undefined;
  };
  const [line, setAt] = useQuery("line");
  if (asked.problem && !asked.data) return <ProblemView problem={asked.problem} again={asked.again} />;
  if (!asked.data || (!pending && !report.data && !report.problem)) return <Skeleton rows={9} />;
  // One card a line and cause: what is part of another finding has none.
  const rows = inOrder(asked.data.rows).filter((f) => typeof caseOf(f)?.part_of !== "number");
  const first = answer && <First answer={answer} parts={parts} />;
  if (rows.length === 0) return !session.analyzed ? <Empty title={text.pending} text={text.pendingText} /> : (first ?? <Nothing session={session} />);
  const open = rows.find((f) => f.file && `${f.rule}:${f.number}` === line);
  return (
    <>
      {first}
      <Panel title={text.heading} aside={text.doNotAdd}>
        {caveats.map((line) => (
          <p key={line} className="panel-body">
            {sentence(line)}
          </p>
        ))}
        {rows.map((f) => (
          <Finding key={`${f.rule} ${f.number}`} finding={f} next={caseOf(f)?.next || RULES[f.rule]?.next} onLine={() => setAt(`${f.rule}:${f.number}`)} />
        ))}
        {open && <SourceLine session={session.id} file={open.file} line={open.line ?? 0} evidence={caseOf(open)?.evidence ?? {}} onClose={() => setAt("")} />}
      </Panel>
    </>
  );
}
