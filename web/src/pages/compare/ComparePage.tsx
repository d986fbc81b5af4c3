// ComparePage.tsx - compares two sessions, or two sets of sessions: differences of their setup, the
// runs as a whole, and for each kernel and scope how much longer b takes and whether the difference
// exceeds chance.
import type { ColumnDef, SortingState } from "@tanstack/react-table";
import { useEffect, useMemo } from "react";
import type { Answer as AnswerOf } from "../../api/client";
import { useApi, type Asked } from "../../api/use";
import { change, count, date, duration, exact, percent, sentence, UNKNOWN } from "../../format/format";
import { namesOf } from "../../format/paths";
import { Link } from "../../router/Link";
import { go, href, usePlace, useQuery, withQuery } from "../../router/router";
import { compare as text } from "../../text/compare";
import { en } from "../../text/en";
import { Choices } from "../../ui/forms";
import { Broken, Name } from "../../ui/Name";
import { Empty, Panel, ProblemView, Search, Skeleton } from "../../ui/parts";
import { Table } from "../../ui/Table";
import { pathOf } from "../flame/tree";
import "./compare.css";
import { Difference } from "./Difference";
import { allOf, differencesOf, idsOf, isReversed, isShare, kernelsOf, otherApps, points, runsOf, scopesOf, sentencesOf, totalsOf, VERDICTS, type Line, type Run, type Total } from "./model";

const TONES: Record<string, string> = { slower: "chip chip-warn", faster: "chip chip-good" };
const FOUND = 6;
type Kind = "k" | "s"; // kernels, scopes
type Compared = AnswerOf<"compare">;

/** Which columns belong to which side; last: the head of a column after those of the sides. */
function Sides({ last }: { last?: string }) {
  const side = last ? "right" : undefined; // numbers
  return (
    <thead>
      <tr>
        <td />
        <th scope="col" className={side}>{text.sides.a}</th>
        <th scope="col" className={side}>{text.sides.b}</th>
        {last && <th scope="col" className="right">{last}</th>}
      </tr>
    </thead>
  );
}
const c = text.columns;

function SidePicker({ side, ids, runs, onChange }: { side: "a" | "b"; ids: string[]; runs: Run[]; onChange: (ids: string[]) => void }) {
  const [search, setSearch] = useQuery(`find-${side}`);
  const found = useApi("sessions", search ? { text: search.slice(0, 256), limit: FOUND } : null);
  return (
    <Panel title={text.sides[side]}>
      <div className="panel-body stack">
        <ul className="side-runs">
          {ids.map((id) => {
            const run = runs.find((r) => r.session === id);
            const name = run?.app || id.slice(0, 8);
            return (
              <li key={id} className="row">
                <Link href={href("session", { session: id, tab: "insights" })}>{name}</Link>
                <span className="small quiet">
                  {run ? `${run.host} · ${date(run.started)} · ${duration(run.duration)}` : id.slice(0, 8)}
                </span>
                <button type="button" className="button end" aria-label={`${en.forms.remove} ${name}`} title={text.remove(name)} onClick={() => onChange(ids.filter((other) => other !== id))}>
                  {en.forms.remove}
                </button>
              </li>
            );
          })}
        </ul>
        <Search label={`${text.add}: ${text.sides[side]}`} hint={`${text.add}: ${text.addHint}`} value={search} onChange={setSearch} />
        {search && (
          <ul className="side-found">
            {(found.data?.rows ?? [])
              .filter((row) => !ids.includes(row.id))
              .map((row) => (
                <li key={row.id}>
                  <button
                    type="button"
                    className="button"
                    onClick={() => {
                      onChange([...ids, row.id]);
                      setSearch("");
                    }}
                  >
                    {row.app || row.id.slice(0, 8)} <span className="small quiet">{`${row.host} · ${date(row.started)} · ${row.id.slice(0, 8)}`}</span>
                  </button>
                </li>
              ))}
            {found.data?.rows.length === 0 && <li className="quiet small">{en.palette.none}</li>}
          </ul>
        )}
      </div>
    </Panel>
  );
}

/** Where a kernel or scope can be looked at: in the first session of b, or of a if b does not
 * have it. */
function placeOf(line: Line, kind: Kind, a: string, b: string): string {
  const session = line.b.calls ? b : a;
  if (kind === "k") return href("session", { session, tab: "kernels" }, { symbol: line.title });
  return href("session", { session, tab: "scopes" }, { zoom: pathOf(namesOf(line.name)), mark: pathOf(namesOf(line.name)) });
}

const columnsFor = (kind: Kind, a: string, b: string): ColumnDef<Line>[] => [
  {
    id: "name",
    accessorKey: "name",
    header: c.name,
    sortDescFirst: false,
    meta: { width: "minmax(260px, 3fr)", lead: true },
    cell: ({ row: { original: l } }) => (
      <span className="kernel-cell mono">
        <Link href={placeOf(l, kind, a, b)} aria-label={text.openKernel(l.short, l.b.calls ? "B" : "A")}>
          <Name short={l.short} uncut={kind === "s" ? l.name : undefined} full={l.name} />
        </Link>
        {l.shapes && <span className="chip">{text.shapes}</span>}
      </span>
    ),
  },
  {
    id: "verdict",
    accessorFn: (l) => -VERDICTS.indexOf(l.verdict as (typeof VERDICTS)[number]),
    header: c.verdict,
    meta: { width: "110px" },
    cell: ({ row: { original: l } }) => (
      <span className={TONES[l.verdict] ?? "chip"} title={text.verdictText[l.verdict]}>
        {text.verdicts[l.verdict] ?? l.verdict}
      </span>
    ),
  },
  { id: "difference", accessorFn: (l) => Math.abs(l.difference ?? 0), header: c.difference, meta: { width: "140px", right: true }, cell: ({ row: { original: l } }) => <span title={exact(l.difference, "ns")}>{`${(l.difference ?? 0) > 0 ? "+" : ""}${duration(l.difference)}`}</span> },
  {
    id: "ratio",
    accessorFn: (l) => l.ratio ?? 1,
    header: c.ratio,
    meta: { width: "120px", right: true },
    cell: ({ row: { original: l } }) => <span title={l.low !== null ? text.interval(change(l.low), change(l.high)) : exact(l.ratio)}>{change(l.ratio) || UNKNOWN}</span>,
  },
  { id: "a", accessorFn: (l) => l.a.mean ?? -1, header: c.a, meta: { width: "100px", right: true }, cell: ({ row: { original: l } }) => <span title={exact(l.a.mean, "ns")}>{duration(l.a.mean)}</span> },
  { id: "b", accessorFn: (l) => l.b.mean ?? -1, header: c.b, meta: { width: "100px", right: true }, cell: ({ row: { original: l } }) => <span title={exact(l.b.mean, "ns")}>{duration(l.b.mean)}</span> },
  { id: "calls", enableSorting: false, header: c.calls, meta: { width: "150px", right: true }, cell: ({ row: { original: l } }) => `${count(l.a.calls)} → ${count(l.b.calls)}` },
  { id: "q", accessorFn: (l) => -(l.q ?? 2), header: c.certainty, meta: { width: "140px", right: true }, cell: ({ row: { original: l } }) => <span title={l.test ? text.tests[l.test] : undefined}>{l.q === null ? UNKNOWN : l.q < 0.001 ? "< 0.001" : l.q.toFixed(3)}</span> },
];

/** all, compared: how many rows both sides have, and how many the server compares; its answer has those that differ most. */
function Lines({ what, lines, all, compared, name, a, b }: { what: string; lines: Line[]; all: unknown; compared: unknown; name: Kind; a: string; b: string }) {
  const cut = allOf(lines.length, all, compared);
  const title = cut ? text.listed(what, count(lines.length), count(cut.all), cut.more) : text.number(what, count(lines.length));
  const columns = useMemo(() => columnsFor(name, a, b), [name, a, b]);
  const { query } = usePlace();
  const [show, setShow] = useQuery(`${name}-show`);
  const sorting: SortingState = [{ id: query.get(`${name}-sort`) ?? "difference", desc: query.get(`${name}-up`) !== "1" }];
  const there = VERDICTS.filter((verdict) => lines.some((line) => line.verdict === verdict));
  const options = [{ value: "", label: `${cut ? text.allShown : text.all} ${lines.length}` }, ...there.map((verdict) => ({ value: verdict as string, label: `${text.verdicts[verdict]} ${lines.filter((l) => l.verdict === verdict).length}` }))];
  const mine = useMemo(() => (show ? lines.filter((line) => line.verdict === show) : lines), [lines, show]);
  return (
    <section className="stack">
      <div className="row">
        <h2>{title}</h2>
        <span className="end" />
        <Choices label={text.show} value={show} options={options} onChange={setShow} />
      </div>
      {mine.length === 0 ? (
        <p className="quiet">{text.none}</p>
      ) : (
        <Table caption={title} rows={mine} columns={columns} sorting={sorting} sortHere onSort={([by]) => by && go(withQuery(location.pathname, query, { [`${name}-sort`]: by.id, [`${name}-up`]: by.desc ? "" : "1" }), true)} />
      )}
    </section>
  );
}

const shownTotal = (value: number | null, total: Total): string => (total.unit === "ns" ? duration(value) : isShare(total) ? percent(value) : count(value));
const shownChange = (total: Total): string => {
  const difference = points(total.a, total.b);
  return isShare(total) ? difference && text.points(difference) : change(total.ratio);
};
const intervalOf = (total: Total): string | undefined =>
  [isShare(total) && total.ratio !== null ? text.relative(change(total.ratio)) : "", total.low !== null ? text.interval(change(total.low), change(total.high)) : ""].filter(Boolean).join("; ") || undefined;

/** The result of the comparison, in the server's words. */
function Short({ sentences, apps, once }: { sentences: string[]; apps: { a: string; b: string } | null; once: boolean }) {
  return (
    <Panel title={text.answer}>
      <div className="panel-body stack compare-answer">
        {sentences.map((line) => (
          <p key={line}>{sentence(line)}</p>
        ))}
        {apps && <p>{text.otherApps(apps.a, apps.b)}</p>}
        {once && <p className="quiet small">{text.once}</p>}
      </div>
    </Panel>
  );
}

function Totals({ rows }: { rows: Total[] }) {
  return (
    <Panel title={text.totals}>
      <table className="simple">
        <Sides last={text.change} />
        <tbody>
          {rows.map((row) => (
            <tr key={row.what}>
              <th scope="row">{text.total[row.what] ?? row.what.replaceAll("_", " ")}</th>
              <td className="right" title={exact(row.a, row.unit)}>
                {shownTotal(row.a, row)}
              </td>
              <td className="right" title={exact(row.b, row.unit)}>
                {shownTotal(row.b, row)}
              </td>
              <td className="right" title={intervalOf(row)}>
                <strong>{shownChange(row)}</strong>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Panel>
  );
}

/** What differs between the sides besides the times. */
function Differences({ rows }: { rows: ReturnType<typeof differencesOf> }) {
  return (
    <Panel title={text.differences}>
      {rows.length === 0 ? (
        <p className="panel-body quiet">{text.same}</p>
      ) : (
        <>
          <table className="simple">
            <Sides />
            <tbody>
              {rows.map((row) => (
                <tr key={row.what}>
                  <th scope="row">{row.what.replaceAll("_", " ")}</th>
                  {[row.a, row.b].map((values, side) => (
                    <td key={side} className="wrap mono small">
                      <Broken text={values.join(", ") || UNKNOWN} />
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
          <p className="panel-body small quiet">{text.differencesText}</p>
        </>
      )}
    </Panel>
  );
}

function Answer({ a, b, asked }: { a: string[]; b: string[]; asked: Asked<Compared> }) {
  const lines = useMemo(() => (asked.data ? { kernels: kernelsOf(asked.data), scopes: scopesOf(asked.data) } : undefined), [asked.data]);
  if (asked.problem && !asked.data) return <ProblemView problem={asked.problem} again={asked.again} />;
  if (!asked.data || !lines) return <Skeleton rows={10} />;
  return (
    <>
      <div className="ways">
        <Totals rows={totalsOf(asked.data)} />
        <Differences rows={differencesOf(asked.data)} />
      </div>
      <Difference a={a} b={b} />
      <Lines name="k" a={a[0]!} b={b[0]!} what={text.kernels} all={asked.data.kernel_count} compared={asked.data.kernels_compared} lines={lines.kernels} />
      {lines.scopes.length > 0 && <Lines name="s" a={a[0]!} b={b[0]!} what={text.scopes} all={asked.data.scope_count} compared={asked.data.scopes_compared} lines={lines.scopes} />}
    </>
  );
}

export function ComparePage() {
  const { query } = usePlace();
  const a = idsOf(query.get("a") ?? "");
  const b = idsOf(query.get("b") ?? "");
  const whole = a.length > 0 && b.length > 0;
  const asked = useApi("compare", whole ? { a: a.join(","), b: b.join(",") } : null);
  useEffect(() => {
    document.title = `${text.title} · ${en.product}`;
  }, []);
  const set = (values: Record<string, string>) => go(withQuery(location.pathname, query, values), true);
  return (
    <div className="stack">
      <div className="row">
        <h1>{text.title}</h1>
        <span className="end" />
        {asked.data && isReversed(runsOf(asked.data.a), runsOf(asked.data.b)) && (
          <span className="small" role="note">
            {text.reversed}
          </span>
        )}
        {whole && (
          <button type="button" className="button" onClick={() => set({ a: b.join(","), b: a.join(",") })}>
            {text.swap}
          </button>
        )}
      </div>
      {asked.data && <Short sentences={sentencesOf(asked.data)} apps={otherApps(asked.data)} once={a.length === 1 && b.length === 1} />}
      <div className="ways">
        <SidePicker side="a" ids={a} runs={runsOf(asked.data?.a ?? [])} onChange={(ids) => set({ a: ids.join(",") })} />
        <SidePicker side="b" ids={b} runs={runsOf(asked.data?.b ?? [])} onChange={(ids) => set({ b: ids.join(",") })} />
      </div>
      {whole ? <Answer a={a} b={b} asked={asked} /> : <Empty title={text.choose} text={text.chooseText} />}
    </div>
  );
}
