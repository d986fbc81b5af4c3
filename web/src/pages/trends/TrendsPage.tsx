// TrendsPage.tsx - a kernel, scope or application over sessions and days: where its level changed,
// and which sessions, hosts and GPUs are outliers. The address says what is followed and how it is
// shown.
import type { ColumnDef, SortingState } from "@tanstack/react-table";
import { useEffect, useMemo, type ReactNode } from "react";
import type { History } from "../../api/schema";
import { useApi } from "../../api/use";
import { change, count, date, duration, exact, exactDate, percent, UNKNOWN } from "../../format/format";
import { Link } from "../../router/Link";
import { go, href, usePlace, useQuery, withQuery, type QueryValues } from "../../router/router";
import { en } from "../../text/en";
import { sums } from "../../text/sums";
import { trends as text } from "../../text/trends";
import { Choices, Field } from "../../ui/forms";
import { Listing, timeColumn, type Column } from "../../ui/Listing";
import { Empty, Panel, ProblemView, Select, Skeleton, Stats } from "../../ui/parts";
import { Table } from "../../ui/Table";
import { DAY_MS, dayFrom, dayText } from "../fleet/days";
import { shortUuids } from "../fleet/health";
import { Chart } from "./Chart";
import { Choose } from "./Choose";
import { aroundStep, dayPicture, daysOf, KINDS, machinesOf, OUTLIER_LEAST, pictureOf, sessionsOf, shapesOf, STEP_LEAST, stepsOf, type Dot, type Kind, type Machine, type Session, type Step } from "./trends";

const c = text.columns;
const NAMES = 200; // applications and hosts to choose from
const NS_OF_DAY = BigInt(DAY_MS) * 1_000_000n;

/** Probabilities as people read them. */
const chance = (p: number | null): string => (p === null ? UNKNOWN : p < 0.001 ? "< 0.001" : p.toFixed(3));

const time = (id: "mean" | "p50" | "p99" | "total"): ColumnDef<Session> => ({
  id,
  header: c[id],
  accessorFn: (s) => s[id] ?? -1,
  meta: { width: "100px", right: true },
  cell: ({ row: { original: s } }) => <span title={exact(s[id], "ns")}>{duration(s[id])}</span>,
});

/** The model of a GPU and as much of its UUID as distinguishes it; rows have UUIDs alone. A GPU that the server does not know
 * now has no model. */
function useGpuText(answer: History): (uuid: string) => ReactNode {
  const known = useApi("gpus", {});
  return useMemo(() => {
    const models = new Map((known.data?.rows ?? []).map((gpu) => [gpu.uuid, gpu.name]));
    const short = shortUuids(machinesOf(answer.gpus).map(({ name }) => ({ uuid: name })));
    return (uuid) => (
      <>
        {models.get(uuid) && `${models.get(uuid)} · `}
        <span className="number">{short(uuid)}</span>
      </>
    );
  }, [known.data, answer.gpus]);
}

const columnsFor = (kind: Kind, gpuText: (uuid: string) => ReactNode): ColumnDef<Session>[] => [
  {
    id: "started",
    header: c.started,
    accessorFn: (s) => Number(s.started),
    meta: { width: "174px", lead: true },
    cell: ({ row: { original: s } }) => (
      <Link href={href("session", { session: s.session, tab: "insights" })} title={`${exactDate(s.started)}. ${text.gone}`}>
        {date(s.started)}
      </Link>
    ),
  },
  ...(kind === "app" ? [] : [{ id: "app", header: c.app, accessorKey: "app", sortDescFirst: false, meta: { width: "minmax(130px, 1fr)" } } satisfies ColumnDef<Session>]),
  { id: "host", header: c.host, accessorKey: "host", sortDescFirst: false, meta: { width: "minmax(100px, 1fr)" }, cell: ({ row: { original: s } }) => <Link href={href("host", { host: s.host })}>{s.host}</Link> },
  { id: "gpu", header: c.gpu, accessorKey: "gpu", sortDescFirst: false, meta: { width: "minmax(170px, 2fr)", grows: true }, cell: ({ row: { original: s } }) => <span className="differences" title={s.gpu}>{gpuText(s.gpu)}</span> },
  ...(kind === "app" ? [] : [{ id: "calls", header: c.calls, accessorFn: (s: Session) => s.calls ?? -1, meta: { width: "90px", right: true }, cell: ({ row: { original: s } }: { row: { original: Session } }) => <span title={exact(s.calls)}>{count(s.calls)}</span> } satisfies ColumnDef<Session>]),
  time("mean"),
  ...(kind === "app" ? [] : [time("p50"), time("p99"), time("total")]),
  { id: "share", header: c.share, accessorFn: (s) => s.share ?? -1, meta: { width: "90px", right: true }, cell: ({ row: { original: s } }) => <span title={text.shares[kind]}>{percent(s.share)}</span> },
  {
    id: "ratio",
    header: c.ratio,
    accessorFn: (s) => Math.abs(Math.log(s.ratio ?? 1)),
    meta: { width: "180px", right: true },
    cell: ({ row: { original: s } }) => (
      <span title={s.level === null ? undefined : exact(s.level, "ns")}>
        {s.outlier && <span className="chip chip-warn">{text.outlier}</span>} {change(s.ratio) || UNKNOWN}
      </span>
    ),
  },
];

function Filters({ kind, answer }: { kind: Kind; answer: History | undefined }) {
  const { query } = usePlace();
  const apps = useApi("session_names", kind === "app" ? null : { by: "app", limit: NAMES });
  const hosts = useApi("session_names", { by: "host", limit: NAMES });
  const set = (values: QueryValues) => go(withQuery(location.pathname, query, values), true);
  const value = (name: string) => query.get(name) ?? "";
  const choices = (rows: readonly { name: string }[] | undefined) => (rows ?? []).filter((row) => row.name).map((row) => ({ value: row.name, label: row.name }));
  const shapes = answer ? shapesOf(answer) : [];
  return (
    <div className="row">
      {kind !== "app" && <Select label={text.filters.app} value={value("app")} all={text.all.app} choices={choices(apps.data?.rows)} onChange={(app) => set({ app })} />}
      <Select label={text.filters.host} value={value("host")} all={text.all.host} choices={choices(hosts.data?.rows)} onChange={(host) => set({ host })} />
      {kind === "kernel" && <Select label={text.filters.shape} value={value("shape")} all={text.all.shape} choices={shapes.map((shape) => ({ value: shape.shape, label: text.shapeOf(shape.shape, count(shape.sessions)) }))} onChange={(shape) => set({ shape })} />}
      <Field name="from" type="date" label={text.filters.from} value={value("from")} onChange={(from) => set({ from })} />
      <Field name="to" type="date" label={text.filters.to} value={value("to")} onChange={(to) => set({ to })} />
    </div>
  );
}

function Steps({ steps, sessions, count: all }: { steps: Step[]; sessions: Session[]; count: number }) {
  const head = text.stepColumns;
  const columns: Column<Step>[] = [
    { label: head.at, title: (s) => exactDate(s.started), show: (s) => <Link href={href("session", { session: s.session, tab: "insights" })}>{date(s.started)}</Link> },
    timeColumn(head.before, (s) => s.before),
    timeColumn(head.after, (s) => s.after),
    { label: head.change, right: true, show: (s) => <strong className={(s.ratio ?? 1) > 1 ? "wrong" : undefined}>{change(s.ratio) || UNKNOWN}</strong> },
    { label: head.p, right: true, show: (s) => chance(s.p), title: (s) => exact(s.p) },
    {
      label: head.note,
      show: (s) => {
        const { a, b } = aroundStep(sessions, s);
        return (
          <span className="row">
            {s.otherMachines && (
              <span className="chip chip-warn" title={text.otherMachinesText}>
                {text.otherMachines}
              </span>
            )}
            {a.length > 0 && b.length > 0 && <Link href={href("compare", {}, { a: a.join(), b: b.join() })}>{text.compare}</Link>}
          </span>
        );
      },
    },
  ];
  return (
    <Panel title={text.steps} aside={text.stepsText}>
      {steps.length === 0 ? <p className="panel-body quiet">{all < STEP_LEAST ? `${text.tooFewSteps(text.counted(count(all)), count(STEP_LEAST))}.` : text.stepsNone}</p> : <Listing label={text.steps} columns={columns} rows={[...steps].reverse()} keyOf={(s) => s.session} />}
    </Panel>
  );
}

function Machines({ title, machines, to, textOf }: { title: string; machines: Machine[]; to?: (name: string) => string; textOf?: (name: string) => ReactNode }) {
  const head = text.machineColumns;
  const columns: Column<Machine>[] = [
    { label: head.name, className: "wrap", title: (m) => m.name, show: (m) => (to ? <Link href={to(m.name)}>{m.name}</Link> : (textOf?.(m.name) ?? m.name)) },
    { label: head.sessions, right: true, show: (m) => count(m.sessions) },
    { label: head.ratio, right: true, show: (m) => (m.ratio === null ? <span className="quiet">{text.tooFew}</span> : change(m.ratio)) },
    { label: head.q, right: true, show: (m) => chance(m.q) },
    { label: head.verdict, show: (m) => m.outlying && <span className={(m.ratio ?? 1) > 1 ? "chip chip-warn" : "chip chip-good"}>{(m.ratio ?? 1) > 1 ? text.slower : text.faster}</span> },
  ];
  return (
    <Panel title={title} aside={text.machinesText}>
      <Listing label={title} columns={columns} rows={machines} keyOf={(m) => m.name} />
    </Panel>
  );
}

type Spacing = "order" | "time" | "day";
const SPACINGS: readonly Spacing[] = ["order", "time", "day"];

function Picture({ kind, name, answer, sessions, steps }: { kind: Kind; name: string; answer: History; sessions: Session[]; steps: Step[] }) {
  const [wanted, setSpacing] = useQuery("by", "order");
  const spacing = SPACINGS.find((one) => one === wanted) ?? "order";
  const days = useMemo(() => daysOf(answer), [answer]);
  const picture = useMemo(() => (spacing === "day" ? dayPicture(days) : pictureOf(sessions, steps, spacing)), [spacing, sessions, steps, days]);
  const byDay = spacing === "day";
  const tip = (dot: Dot): string[] => {
    if (byDay) return [duration(days[dot.at]!.mean), dayText(days[dot.at]!.day), `${count(days[dot.at]!.sessions)} ${text.sessions.toLowerCase()}`];
    const s = sessions[dot.at]!;
    return [duration(s.mean), date(s.started), [s.app, s.host].filter(Boolean).join(" · "), ...(s.outlier ? [`${text.outlier}: ${change(s.ratio)}`] : [])];
  };
  const open = (dot: Dot) => {
    if (byDay) go(withQuery(location.pathname, new URLSearchParams(location.search), { from: dayText(days[dot.at]!.day), to: dayText(days[dot.at]!.day), by: "" }));
    else go(href("session", { session: sessions[dot.at]!.session, tab: kind === "kernel" ? "kernels" : kind === "scope" ? "scopes" : "insights" }));
  };
  const ends: [string, string] = byDay ? [dayText(days[0]?.day ?? 0), dayText(days.at(-1)?.day ?? 0)] : [date(sessions[0]?.started), date(sessions.at(-1)?.started)];
  return (
    <Panel title={text.chart} aside={<Choices label={text.spacing} value={spacing} options={SPACINGS.map((value) => ({ value, label: text.spacings[value]! }))} onChange={setSpacing} />}>
      <div className="panel-body">
        <Chart label={text.chartLabel(name, count(sessions.length), count(steps.length))} picture={picture} of={byDay ? text.legend.day : text.legend.session} ends={ends} tip={tip} onOpen={open} />
      </div>
    </Panel>
  );
}

function Answer({ kind, answer, name }: { kind: Kind; answer: History; name: string }) {
  const { query } = usePlace();
  const sessions = useMemo(() => sessionsOf(answer), [answer]);
  const steps = useMemo(() => stepsOf(answer), [answer]);
  const gpuText = useGpuText(answer);
  const columns = useMemo(() => columnsFor(kind, gpuText), [kind, gpuText]);
  const outliers = answer.outlier_count ?? 0;
  const left = answer.sessions_left_out ?? 0;
  const all = answer.session_count ?? 0;
  const last = steps.at(-1);
  const lastText = last ? <span className={(last.ratio ?? 1) > 1 ? "wrong" : "captured-good"}>{change(last.ratio)}</span> : all < STEP_LEAST ? UNKNOWN : text.noStep;
  const lastNote = last ? date(last.started) : all < STEP_LEAST ? text.tooFewSteps(text.counted(count(all)), count(STEP_LEAST)) : text.noStepText;
  const few = all < OUTLIER_LEAST;
  const sorting: SortingState = [{ id: query.get("sort") ?? "started", desc: query.get("ascending") !== "true" }];
  return (
    <>
      <Stats
        items={[
          { label: text.level[kind]!, value: duration(answer.level_ns), exact: exact(answer.level_ns, "ns"), note: last ? text.levelText : all === 1 ? text.levelOne : text.levelAll },
          { label: text.sessions, value: count(answer.session_count), exact: exact(answer.session_count) },
          { label: text.lastStep, value: lastText, note: lastNote },
          { label: text.outliers, value: few ? UNKNOWN : count(outliers), ...(few ? { note: text.tooFewOutliers(text.counted(count(all)), count(OUTLIER_LEAST)) } : { exact: exact(outliers) }) },
        ]}
      />
      {kind === "kernel" && !query.get("shape") && shapesOf(answer).length > 1 && <p className="quiet small">{text.mixed}</p>}
      {left > 0 && <p className="quiet small">{text.leftOut(count(sessions.length), count(answer.session_count))}</p>}
      <Picture kind={kind} name={name} answer={answer} sessions={sessions} steps={steps} />
      <Steps steps={steps} sessions={sessions} count={all} />
      <div className="ways">
        <Machines title={text.machines.hosts} machines={machinesOf(answer.hosts)} to={(host) => href("host", { host })} />
        <Machines title={text.machines.gpus} machines={machinesOf(answer.gpus)} textOf={gpuText} />
      </div>
      <section className="stack">
        <h2>{text.sessions}</h2>
        <Table caption={text.sessions} rows={sessions} columns={columns} sorting={sorting} sortHere onSort={([by]) => by && go(withQuery(location.pathname, query, { sort: by.id, ascending: by.desc ? "" : "true" }), true)} />
      </section>
    </>
  );
}

/** A day of the address as ns since the Unix epoch; with `atEnd` the end of the day. */
const nsOf = (day: string | null, atEnd = false): { ns?: string } => {
  const at = dayFrom(day ?? "");
  return at === null ? {} : { ns: String(BigInt(at + (atEnd ? 1 : 0)) * NS_OF_DAY) };
};

function Followed({ kind, name }: { kind: Kind; name: string }) {
  const { query } = usePlace();
  const from = nsOf(query.get("from")).ns;
  const to = nsOf(query.get("to"), true).ns;
  const parameters = { kind, name, app: query.get("app") ?? "", host: query.get("host") ?? "", shape: query.get("shape") ?? "", ...(from ? { from } : {}), ...(to ? { to } : {}) };
  const asked = useApi("history", parameters);
  const title = asked.data?.name ?? name;
  const short = asked.data?.short_name ?? title;
  useEffect(() => {
    document.title = `${short} · ${text.title} · ${en.product}`;
  }, [short]);
  return (
    <>
      <div className="row">
        <h1 className="kernel-name">
          <span className="quiet">{text.of[kind]}</span> <span className={kind === "kernel" ? "mono" : undefined}>{short}</span>
        </h1>
        <Link className="button end" href={href("trends", {}, { kind: kind === "kernel" ? "" : kind })}>
          {text.other[kind]}
        </Link>
      </div>
      <Filters kind={kind} answer={asked.data} />
      {asked.problem && !asked.data && <ProblemView problem={asked.problem} again={asked.again} />}
      {!asked.data && !asked.problem && <Skeleton rows={10} />}
      {asked.data && (asked.data.session_count ? <Answer kind={kind} answer={asked.data} name={title} /> : <Empty title={text.missing} text={text.missingText} />)}
    </>
  );
}

export function TrendsPage() {
  const { query } = usePlace();
  const kind = KINDS.find((one) => one === query.get("kind")) ?? "kernel";
  const name = query.get("name") ?? "";
  useEffect(() => {
    if (!name) document.title = `${text.title} · ${en.product}`;
  }, [name]);
  if (name) return <Followed key={`${kind} ${name}`} kind={kind} name={name} />;
  return (
    <div className="stack">
      <div className="row">
        <h1>{text.title}</h1>
        <Link className="button end" href={href("sums", {}, { kind: kind === "scope" ? kind : "" })}>
          {sums.link}
        </Link>
      </div>
      <Choose kind={kind} onKind={(chosen) => go(withQuery(location.pathname, query, { kind: chosen === "kernel" ? "" : chosen, search: "" }), true)} />
    </div>
  );
}
