// InsightsTab.tsx - what slows the program down, in the server's order: by what each finding could
// give back. A finding has one sentence, the line and the next step; the chip opens the line with
// the text around it.
import { useEffect, useMemo, useRef, useState, type ReactNode } from "react";
import { onSession, useApi } from "../../api/use";
import { answerOf, casesOf, caveatsOf, idleLinesOf, sentencesOf, wholeOf, timeOf, type Case } from "../../api/report";
import { RULES } from "../../api/rules";
import type { RowFinding } from "../../api/schema";
import { vendorOf } from "../../api/vendor";
import { baseName, count, duration, exact, percent, sentence } from "../../format/format";
import { Link } from "../../router/Link";
import { href, useQuery } from "../../router/router";
import { en } from "../../text/en";
import { insights as text } from "../../text/insights";
import { part as lazy } from "../../ui/Boundary";
import { Empty, Meter, Panel, ProblemView, Skeleton } from "../../ui/parts";
import { useGraphRuns } from "../session/graphs";
import type { TabProps } from "../session/tabs";
import { First } from "./Answer";
import { lineKey, partsOf, saidOf } from "./causes";
import { Said } from "./Said";
import { boundOf, inOrder, onTimeline, shownOf } from "./source";

/** The source window is loaded when a line is first opened. */
const SourceLine = lazy(() => import("./SourceLine"), (m) => m.SourceLine);

const TONES = ["finding-low", "finding-medium", "finding-high"];
/** A circle, a square standing on its tip, a triangle: severity for those who see no colours. */
const SHAPES = ["M6 2a4 4 0 1 0 0 8 4 4 0 0 0 0-8", "M6 0l6 6-6 6-6-6z", "M6 0l6 12H0z"];

interface FindingProps {
  finding: RowFinding;
  evidence: Case["evidence"];
  said: ReturnType<typeof saidOf>;
  part: string | undefined; // of the time, that it is mostly about
  launches: boolean; // whether launches of kernels are recorded one by one
  onLine: () => void;
  of: string; // what its share is a part of
}

const idOf = (f: RowFinding): string => `finding-${f.number ?? 0}`;

/** What a finding could give back, and where its time is shown. */
function Gain({ finding: f, evidence, launches, of }: FindingProps) {
  const rule = RULES[f.rule];
  const place = onTimeline(f, evidence, launches);
  const bound = boundOf(f, launches);
  return (
    <div className="gain" title={rule ? `${text.bound}: ${rule.bound}` : undefined}>
      <span className="small quiet">{text.giveBack}</span>
      {bound === null ? (
        <span title={text.boundUnknownText}>{en.session.unknown}</span>
      ) : (
        <>
          <strong title={exact(bound, "ns")}>{duration(bound)}</strong>
          <Meter part={f.share} warm />
          <span className="small number">{(text.ofWhole[of] ?? text.ofWhole.run!)(percent(f.share))}</span>
        </>
      )}
      {place && (
        <Link className="small" href={href("session", { session: f.session, tab: "timeline" }, place)}>
          {text.timeline}
        </Link>
      )}
      {f.kernel && (
        <Link className="small" href={href("session", { session: f.session, tab: "kernels" }, { symbol: f.kernel })}>
          {text.kernel}
        </Link>
      )}
    </div>
  );
}

function Finding(props: FindingProps) {
  const { finding: f, said: { text: words, next }, part, onLine } = props;
  const severity = f.severity ?? 0;
  return (
    <article id={idOf(f)} tabIndex={-1} className={`finding ${TONES[severity] ?? TONES[0]}`}>
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
        {words && <p>{sentence(words)}</p>}
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
            <strong>{text.next}:</strong> <Said words={next} session={f.session} part={part} />
          </p>
        )}
      </div>
      <Gain {...props} />
    </article>
  );
}

/** No finding: the reason, as far as the recording shows it. */
function Nothing({ session }: Pick<TabProps, "session">) {
  const runs = useGraphRuns(session, true);
  if (runs === undefined) return <Skeleton rows={3} />;
  return <Empty title={text.none} text={runs ? text.noneGraphs(count(runs)) : session.kernels ? text.noneText : text.noneWithout} />;
}

/** Shows the card with an id, as soon as it is in the page. */
function useCard(): (id: string) => void {
  const wanted = useRef("");
  const [, setRound] = useState(0);
  useEffect(() => {
    const card = wanted.current ? document.getElementById(wanted.current) : null;
    if (!card) return;
    wanted.current = "";
    card.scrollIntoView({ block: "center" });
    card.focus({ preventScroll: true });
  });
  return (id) => {
    wanted.current = id;
    setRound((n) => n + 1);
  };
}

/** Asks for the findings again when the analysis has come between the questions for the session
 * and for its findings: those that are shown are older than the session's row. */
function useAnalysis(pending: boolean, again: () => void): void {
  const was = useRef(pending);
  useEffect(() => {
    if (was.current && !pending) again();
    was.current = pending;
  }, [pending, again]);
}

/** The cards that are shown only on request. */
function Rest({ children }: { children: ReactNode[] }) {
  const [more, setMore] = useQuery("more");
  return (
    <details className="finding-rest" open={more === "1"} onToggle={(event) => setMore(event.currentTarget.open ? "1" : "")}>
      <summary>{text.more(children.length)}</summary>
      {children}
    </details>
  );
}

export function InsightsTab({ session }: TabProps) {
  const pending = session.state === "live" || !session.analyzed;
  const fresh = { every: pending ? 3000 : 0, on: onSession(session.id), settled: !pending };
  const asked = useApi("session_findings", { session: session.id }, fresh);
  // A live session has a report as soon as it has findings.
  const made = !pending || (asked.data?.rows.length ?? 0) > 0;
  const report = useApi("section_insights", made ? { session: session.id } : null, fresh);
  const answer = useMemo(() => answerOf(report.data), [report.data]);
  const parts = useMemo(() => timeOf(report.data), [report.data]);
  const whole = useMemo(() => wholeOf(report.data), [report.data]);
  const lines = useMemo(() => idleLinesOf(report.data), [report.data]);
  const cases = useMemo(() => (report.data ? casesOf(report.data) : []), [report.data]);
  const partsAt = useMemo(() => partsOf(cases), [cases]);
  const caveats = useMemo(() => caveatsOf(report.data), [report.data]);
  useAnalysis(pending, asked.again);
  /** In an older analysis the finding with this number may be another one. */
  const caseOf = (f: RowFinding): Case | undefined => {
    const found = cases[f.number ?? -1];
    return found?.id === f.rule ? found : undefined;
  };
  const [line, setAt] = useQuery("line");
  const [, setMore] = useQuery("more");
  const show = useCard();
  if (asked.problem && !asked.data) return <ProblemView problem={asked.problem} again={asked.again} />;
  if (!asked.data || (!pending && !report.data && !report.problem)) return <Skeleton rows={9} />;
  // One card a line and cause: a finding that is part of another one has no card.
  const rows = inOrder(asked.data.rows).filter((f) => typeof caseOf(f)?.part_of !== "number");
  const shown = shownOf(rows.map((f) => ({ severity: f.severity, share: boundOf(f, Boolean(session.kernels)) === null ? null : f.share })));
  const toFinding = (f: RowFinding): void => {
    if (rows.indexOf(f) >= shown) setMore("1");
    show(idOf(f));
  };
  const idle = lines.find((one) => one.file && lineKey(one) === line);
  const source = idle && <SourceLine session={session.id} file={idle.file} line={idle.line} evidence={idle.ended ? { gpu_idle_ended_ns: idle.ns } : { gpu_idle_ns: idle.ns }} onClose={() => setAt("")} />;
  const first = answer && <First answer={answer} parts={parts} session={session.id} whole={whole} sentences={sentencesOf(report.data).filter((line) => rows.length === 0 || !caveats.includes(line))} lines={lines} findings={rows} about={(f) => (caseOf(f) && partsAt[f.number ?? -1]) ?? []} onLine={setAt} onFinding={toFinding} />;
  if (rows.length === 0) return !session.analyzed ? <Empty title={text.pending} text={text.pendingText} /> : (first ? <>{first}{source}</> : <Nothing session={session} />);
  const open = rows.find((f) => f.file && `${f.rule}:${f.number}` === line);
  const card = (f: RowFinding) => {
    const found = caseOf(f);
    return <Finding key={`${f.rule} ${f.number}`} finding={f} evidence={found?.evidence ?? {}} said={saidOf(f.text, found?.next || RULES[f.rule]?.next, answer)} part={found?.parts?.[0]} launches={Boolean(session.kernels)} of={whole.of} onLine={() => setAt(`${f.rule}:${f.number}`)} />;
  };
  return (
    <>
      {first}
      {source}
      <Panel title={text.heading} aside={text.doNotAdd}>
        {caveats.map((line) => (
          <p key={line} className="panel-body">
            {sentence(line)}
          </p>
        ))}
        {rows.slice(0, shown).map(card)}
        {shown < rows.length && <Rest>{rows.slice(shown).map(card)}</Rest>}
        {open && <SourceLine session={session.id} file={open.file} line={open.line ?? 0} evidence={caseOf(open)?.evidence ?? {}} vendor={vendorOf(session)} onClose={() => setAt("")} />}
      </Panel>
    </>
  );
}
