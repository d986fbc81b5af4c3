// Deep.tsx - why a kernel is as fast as it is: what limits its occupancy, why its warps wait, and
// the lines and instructions at which they wait.
import { useLayoutEffect, useMemo, useRef, type CSSProperties } from "react";
import { rowsOf } from "../../api/columns";
import { onSession, useApi } from "../../api/use";
import { baseName, bytes, count, duration, exact, percent, UNKNOWN } from "../../format/format";
import { href, useQuery } from "../../router/router";
import { kernels as kernelTexts } from "../../text/kernels";
import { kernel as text, wordsOf, type Words } from "../../text/kernel";
import type { SourcePlace } from "../../format/place";
import { Choices } from "../../ui/forms";
import { countColumn, Listing, timeColumn, type Column } from "../../ui/Listing";
import { Meter, Panel, ProblemView } from "../../ui/parts";
import { Link } from "../../router/Link";
import type { RowSession } from "../../api/schema";
import { run as runText } from "../../text/run";
import { textOf } from "../insights/source";
import { useKept } from "../insights/useKept";
import { recordedOf, timesOf, together } from "../run/run";
import { useProfiles } from "../run/usePasses";
import { passOf } from "../session/facts";
import { AtLine } from "./AtLine";
import { codeOf, configsOf, heat, hotFirst, leftOut, lineAt, ptxPath, resourceOf, stallsOf, type Config, type Line, type Stall } from "./deep";
import type { OfKernel } from "./Launches";
import { ProfileOfKernel } from "./Profile";
import "./deep.css";

const SHOWN_CONFIGS = 4;
const CONFIGS = 1000;
const fixed = (value: number | null, digits = 1): string => (value === null ? UNKNOWN : value.toFixed(digits));

interface OfConfig {
  config: Config;
  words: Words;
}

const gpuOf = ({ device }: Config): string => (device === null ? UNKNOWN : text.gpu(device));
/** Whether only the GPU distinguishes some of the configurations. */
const onSeveral = (configs: readonly Config[]): boolean => new Set(configs.map(({ device }) => device)).size > 1;

function Occupancy({ config: c, words, several }: OfConfig & { several: boolean }) {
  const unknown = c.occupancy === null && c.limits.every((limit) => limit.blocks === null);
  return (
    <div className="occupancy">
      <div>
        <strong className="occupancy-part">{percent(c.occupancy)}</strong>
        <Meter part={c.occupancy} warm={(c.occupancy ?? 1) < 0.5} />
        <p className="small">
          {words.shape(c.grid, c.block)}
          {several && `, ${gpuOf(c)}`}
        </p>
        <p className="small quiet">
          {words.facts(count(c.registers), bytes(c.shared), c.local ? words.spills(bytes(c.local)) : "")}
          {c.waves !== null && `, ${words.waves(fixed(c.waves))}`}
        </p>
        <p className="small quiet" title={exact(c.total, "ns")}>
          {text.calls(count(c.calls), duration(c.total))}
        </p>
      </div>
      {unknown ? <p className="small quiet">{words.occupancyUnknown}</p> : <Limits config={c} words={words} />}
    </div>
  );
}

function Limits({ config: c, words }: OfConfig) {
  const limiter = resourceOf(c.limiter);
  const top = Math.max(...c.limits.map((limit) => limit.blocks ?? 0), 1);
  return (
    <div className="stack-tight">
      <p className="small quiet">{words.allows}</p>
      <dl className="limits small" aria-label={words.allows}>
        {c.limits.map(({ resource, blocks }) => (
          <div key={resource} className={resource === limiter ? "limit limit-here" : "limit"}>
            <dt>{(resource === limiter ? text.limits[c.limiter] : words.resources[resource]) ?? resource}</dt>
            <dd>
              <Meter part={blocks === null ? 1 : blocks / top} warm={resource === limiter} />
              <span className="number">{blocks === null ? text.unlimited : blocks}</span>
              {resource === limiter && <span className="chip chip-warn">{text.limiter}</span>}
            </dd>
          </div>
        ))}
      </dl>
    </div>
  );
}

function Stalls({ stalls }: { stalls: Stall[] }) {
  const top = stalls[0]?.samples ?? 1;
  return (
    <dl className="stalls small">
      {stalls.map((s) => (
        <div key={s.reason} title={text.samples(exact(s.samples), percent(s.part))}>
          <dt className={s.reason ? "mono ellipsis" : "quiet"}>{s.reason || text.reasonUnknown}</dt>
          <dd>
            <svg viewBox="0 0 1000 14" preserveAspectRatio="none" aria-hidden="true">
              <rect className="stall" width={(s.samples / top) * 1000} height="14" />
              {s.notIssued !== null && <rect className="stall-idle" width={(s.notIssued / top) * 1000} height="14" />}
            </svg>
            <span className="number">{percent(s.part)}</span>
          </dd>
        </div>
      ))}
    </dl>
  );
}

const hot = (part: number): CSSProperties => ({ "--heat": `${Math.round(heat(part) * 55)}%` }) as CSSProperties;

const WIDE = ["offset", "sass", "reason"]; // texts; the other columns are numbers
const COLUMNS = Object.keys(wordsOf("").columns) as (keyof Words["columns"])[];

/** A line of source, and its instructions below it. */
function LineOfCode({ line, source, all, here }: { line: Line; source: string | null; all: number; here: boolean }) {
  return (
    <tbody className={here ? "code-line code-here" : "code-line"} aria-current={here || undefined}>
      <tr className="code-head heated" style={hot(line.part)}>
        <th scope="rowgroup" colSpan={COLUMNS.length}>
          <span className="code-place">
            <strong className="mono">{line.line === null ? text.noLine : `${baseName(line.file)}:${line.line}`}</strong>
            <code className="code-source">{source ?? ""}</code>
            <span className="small number end" title={exact(line.samples)}>
              {text.lineHead(percent(line.part), count(line.items.length))}
            </span>
          </span>
        </th>
      </tr>
      {line.items.map((at) => (
        <tr key={at.offset} className="heated" style={hot(all ? at.samples / all : 0)}>
          <td className="mono quiet">{at.offset.toString(16).padStart(4, "0")}</td>
          <td className="mono sass-text" title={at.text}>
            {at.text}
          </td>
          <td className="right" title={exact(at.samples)}>
            {at.samples ? percent(all ? at.samples / all : 0) : ""}
          </td>
          <td className="mono small">{at.reason}</td>
          <td className="right" title={exact(at.executed)}>
            {at.executed === null ? "" : count(at.executed)}
          </td>
          <td className={at.threads !== null && at.threads < 24 ? "right wrong" : "right"}>{at.threads === null ? "" : text.threads(fixed(at.threads))}</td>
          <td className={at.coalescing !== null && at.coalescing < 0.7 ? "right wrong" : "right"}>{at.coalescing === null ? "" : percent(at.coalescing)}</td>
          <td className={at.conflicts !== null && at.conflicts > 1.2 ? "right wrong" : "right"} title={at.conflicts === null || at.conflicts <= 1 ? undefined : text.wavefrontsText(fixed(at.conflicts))}>{at.conflicts === null || at.conflicts <= 1 ? "" : text.wavefronts(fixed(at.conflicts))}</td>
        </tr>
      ))}
    </tbody>
  );
}

/** The kernel's PTX, if its cubin has it (docs/format.md, source). */
function usePtx(session: string, symbol: string): string | null {
  const kept = useApi("sources", { session });
  const path = ptxPath(symbol);
  const source = useApi("source", kept.data?.data.path.includes(path) ? { session, path } : null);
  return source.data ? textOf(source.data.data.text) : null;
}

function Ptx({ ptx }: { ptx: string }) {
  return (
    <pre className="source" tabIndex={0} role="region" aria-label={text.ptx}>
      {ptx.split("\n").map((line, at) => (
        <span key={at} className="source-row">
          <span className="source-number">{at + 1}</span>
          {line}
          {"\n"}
        </span>
      ))}
    </pre>
  );
}

/** The kernel's code in one of the ways to show it. */
function Code({ session, lines, ptx, place, words }: { session: string; lines: Line[] | null; ptx: string | null; place: SourcePlace | null; words: Words }) {
  const [wanted, setWay] = useQuery("code", "hot");
  const ways = [...(lines ? ["hot", "file"] : []), ...(ptx ? ["ptx"] : [])];
  const way = ways.find((one) => one === wanted) ?? ways[0]!;
  return (
    <>
      <div className="panel-body row">
        <Choices label={text.order} value={way} options={ways.map((value) => ({ value, label: text.ways[value]! }))} onChange={setWay} />
        {way === "ptx" && <span className="small quiet">{text.ptxText}</span>}
      </div>
      {way === "ptx" ? <Ptx ptx={ptx!} /> : <Sass session={session} lines={lines!} inOrder={way === "file"} place={place} words={words} />}
    </>
  );
}

/** place: the line that is marked; the page scrolls to the line if the kernel has instructions
 * at it. */
function Sass({ session, lines, inOrder, place, words }: { session: string; lines: Line[]; inOrder: boolean; place: SourcePlace | null; words: Words }) {
  const box = useRef<HTMLDivElement>(null);
  const here = useMemo(() => lineAt(lines, place), [lines, place]);
  const file = here?.file ?? hotFirst(lines).find((line) => line.file)?.file;
  const kept = useKept(session, file);
  const source = useMemo(() => kept.text?.split("\n") ?? null, [kept.text]);
  useLayoutEffect(() => {
    const row = box.current?.querySelector(".code-here");
    if (row) box.current!.scrollTop += row.getBoundingClientRect().top - box.current!.getBoundingClientRect().top - box.current!.clientHeight / 4;
  }, [here, inOrder]);
  const shown = inOrder ? lines : hotFirst(lines);
  const all = lines.reduce((sum, line) => sum + line.samples, 0);
  return (
    <>
      {file && !source && <p className="panel-body small quiet">{text.notKept}</p>}
      <div ref={box} className="code scroll-x" tabIndex={0} role="region" aria-label={text.code}>
        <table className="sass">
          <thead>
            <tr>
              {COLUMNS.map((key) => (
                <th scope="col" key={key} className={WIDE.includes(key) ? "" : "right"}>
                  {words.columns[key]}
                </th>
              ))}
            </tr>
          </thead>
          {shown.map((line) => (
            <LineOfCode key={`${line.file}:${line.line}`} line={line} all={all} here={line === here} source={source && line.file === file && line.line ? (source[line.line - 1] ?? null) : null} />
          ))}
        </table>
      </div>
    </>
  );
}

const head = kernelTexts.configColumns;
const configColumns = (words: Words, several: boolean): Column<Config>[] => [
  ...(several ? [{ label: head.gpu, show: gpuOf }] : []),
  { label: head.grid, className: "mono", show: (c) => c.grid },
  { label: words.configs.block, className: "mono", show: (c) => c.block },
  countColumn(head.calls, (c) => c.calls),
  timeColumn(head.total, (c) => c.total),
  timeColumn(head.mean, (c) => c.mean),
  timeColumn(head.p99, (c) => c.p99),
  { label: head.occupancy, right: true, show: (c) => percent(c.occupancy), title: (c) => (c.limiter ? `${text.limits[c.limiter] ?? c.limiter} ${text.limiter}` : undefined) },
  countColumn(head.registers, (c) => c.registers),
  { label: words.configs.shared, right: true, show: (c) => bytes(c.shared), title: (c) => exact(c.shared, "bytes") },
  { label: head.spills, right: true, show: (c) => bytes(c.local), title: (c) => exact(c.local, "bytes") },
];

/** How the kernel was launched: the record of each configuration, and the sums of its launches. */
function useConfigs({ session, name }: OfKernel) {
  const recorded = useApi("configs", { session, name });
  const launched = useApi("kernel_configs", { session, name, limit: CONFIGS });
  const report = useApi("section_kernels", { session }, { every: 0, on: onSession(session) });
  const configs = useMemo(() => (recorded.data && launched.data ? configsOf(recorded.data, rowsOf(launched.data), report.data) : undefined), [recorded.data, launched.data, report.data]);
  const failed = [recorded, launched].find((asked) => asked.problem && !asked.data);
  return { configs, failed };
}

/** A kernel's lines and instructions alone, for a kernel without records. part: the report's
 * part `profile`. */
export function CodeAlone({ session, part, symbol, place, words }: { session: string; part: unknown; symbol: string; place: SourcePlace | null; words: Words }) {
  const ptx = usePtx(session, symbol);
  const lines = useMemo(() => codeOf(part, symbol), [part, symbol]);
  return <Panel title={text.code}>{lines || ptx ? <Code session={session} lines={lines} ptx={ptx} place={place} words={words} /> : <p className="panel-body quiet">{leftOut(part) ? text.codeCut : words.codeNone}</p>}</Panel>;
}

/** The counts of the session's own pass and of the other passes of its run, as one. */
function useTogether(session: string, passes: readonly RowSession[], symbol: string) {
  const profile = useApi("section_profile", { session }, { every: 0, on: onSession(session) });
  const others = useProfiles(passes, session);
  const own = profile.data;
  const parts = useMemo(() => new Map<string, unknown>([...(own === undefined ? [] : [[session, own] as const]), ...(others ?? [])]), [own, others, session]);
  const part = useMemo(() => (parts.size > 0 ? together([...parts.values()]) : undefined), [parts]);
  // The session with the code has the sources.
  const owner = [...parts].find(([, one]) => codeOf(one, symbol))?.[0] ?? session;
  const analysed = profile.problem?.status !== 404 || part !== undefined;
  return { part: others ? part : undefined, parts, owner, analysed };
}


/** The pass that each kind of number comes from. */
function FromPasses({ passes, parts, symbol }: { passes: readonly RowSession[]; parts: ReadonlyMap<string, unknown>; symbol: string }) {
  const of = (what: "stalls" | "counts" | "counters"): RowSession | undefined => passes.find((row) => recordedOf(parts.get(row.id), symbol)[what]);
  const rows: [string, RowSession | undefined][] = [["times", timesOf(passes)], ["stalls", of("stalls")], ["counts", of("counts")], ["counters", of("counters")]];
  return (
    <p className="small from-passes" role="note" aria-label={runText.from}>
      <strong>{runText.from}:</strong>{" "}
      {rows.map(([what, row], n) => (
        <span key={what}>
          {n > 0 && "· "}
          {runText.parts[what]}:{" "}
          {row ? (
            <Link href={href("session", { session: row.id, tab: "kernels" })}>{runText.fromText(String(passOf(row)?.pass ?? ""), row.engine)}</Link>
          ) : (
            <span className="quiet">{runText.none}</span>
          )}
        </span>
      ))}
    </p>
  );
}

interface DeepProps extends OfKernel {
  symbol: string;
  short: string;
  passes: readonly RowSession[]; // of the session's run, if the command ran once for each engine
  place: SourcePlace | null; // the source line that the page is opened at
  at: string; // the session that has the line
  words: Words; // of the session's GPUs
}

export function Deep({ session, name, symbol, short, passes, place, at, words }: DeepProps) {
  const { configs, failed } = useConfigs({ session, name });
  const { part, parts, owner, analysed } = useTogether(session, passes, symbol);
  const ptx = usePtx(owner, symbol);
  const stalls = useMemo(() => (part ? stallsOf(part, symbol) : []), [part, symbol]);
  const lines = useMemo(() => (part ? codeOf(part, symbol) : null), [part, symbol]);
  const why = analysed && (
    <Panel title={words.stalls} aside={stalls.some((stall) => stall.notIssued !== null) ? text.stallsText : text.stallsPlain}>
      <div className="panel-body">{!part ? <div className="skeleton skeleton-block" /> : stalls.length ? <Stalls stalls={stalls} /> : <p className="quiet">{words.stallsNone}</p>}</div>
    </Panel>
  );
  const counts = part !== undefined && <ProfileOfKernel part={part} symbol={symbol} words={words} />;
  const code = (analysed || ptx) && (
    <Panel title={text.code}>
      {analysed && !part ? <div className="skeleton skeleton-block" /> : lines || ptx ? <Code session={owner} lines={lines} ptx={ptx} place={place} words={words} /> : <p className="panel-body quiet">{leftOut(part) ? text.codeCut : words.codeNone}</p>}
    </Panel>
  );
  return (
    <>
      {failed?.problem && <ProblemView problem={failed.problem} again={failed.again} />}
      {passes.length > 1 && part !== undefined && <FromPasses passes={passes} parts={parts} symbol={symbol} />}
      {place && (
        <div className="at-line">
          <div className="stack">
            <AtLine session={at} place={place} short={short} />
            {why}
          </div>
          <div className="stack">
            {code}
            {counts}
          </div>
        </div>
      )}
      <div className="ways">
        <Panel title={text.occupancy} aside={words.occupancyText}>
          <div className="panel-body stack">
            {!configs && !failed && <div className="skeleton skeleton-block" />}
            {configs?.length === 0 && <p className="quiet">{text.configsNone}</p>}
            {configs?.slice(0, SHOWN_CONFIGS).map((config) => <Occupancy key={config.id} config={config} words={words} several={onSeveral(configs)} />)}
          </div>
        </Panel>
        {!place && why}
      </div>
      {!place && counts}
      {configs && configs.length > 0 && (
        <Panel title={kernelTexts.configs}>
          <Listing label={kernelTexts.configs} columns={configColumns(words, onSeveral(configs))} rows={configs} keyOf={(config) => config.id} />
        </Panel>
      )}
      {!place && code}
    </>
  );
}
