// Choose.tsx - what can be followed: kernels, scopes and applications of the sessions that have ended,
// those that took most time first.
import { useMemo } from "react";
import { useApi } from "../../api/use";
import { count } from "../../format/format";
import { Link } from "../../router/Link";
import { href, useQuery } from "../../router/router";
import { trends as text } from "../../text/trends";
import { countColumn, Listing, timeColumn, type Column } from "../../ui/Listing";
import { Choices } from "../../ui/forms";
import { Empty, Panel, ProblemView, Search, Skeleton } from "../../ui/parts";
import { candidatesOf, KINDS, type Candidate, type Kind } from "./trends";

const ROWS = 20_000;
const SHOWN = 200;
const head = text.choose;

export function Choose({ kind, onKind }: { kind: Kind; onKind: (kind: Kind) => void }) {
  const [search, setSearch] = useQuery("search");
  const asked = useApi("kernel_history", { kind, limit: ROWS, ...(search ? { pattern: search.slice(0, 256) } : {}) });
  const found = useMemo(() => (asked.data ? candidatesOf(asked.data) : undefined), [asked.data]);
  const columns: Column<Candidate>[] = [
    {
      label: head.name,
      className: "wrap",
      title: (one) => one.name,
      show: (one) => (
        <Link className={kind === "kernel" ? "mono" : undefined} href={href("trends", {}, { kind, name: one.symbol })}>
          {kind === "kernel" ? one.short : one.name}
        </Link>
      ),
    },
    countColumn(head.sessions, (one) => one.sessions),
    countColumn(head.calls, (one) => one.calls),
    timeColumn(head.total, (one) => one.total),
  ];
  return (
    <>
      <p className="quiet">{text.intro}</p>
      <div className="row">
        <Choices label={text.kind} value={kind} options={KINDS.map((value) => ({ value, label: text.kinds[value]! }))} onChange={onKind} />
        <Search label={text.searchLabel} hint={text.search[kind]!} value={search} onChange={setSearch} />
      </div>
      {asked.problem && !asked.data && <ProblemView problem={asked.problem} again={asked.again} />}
      {!found && !asked.problem && <Skeleton rows={8} />}
      {found?.length === 0 && (search ? <Empty title={text.noneFound} /> : <Empty title={text.none} text={text.noneText} />)}
      {found && found.length > 0 && (
        <Panel>
          <Listing label={text.title} columns={columns} rows={found.slice(0, SHOWN)} keyOf={(one) => one.symbol} />
          {(asked.data?.rows === ROWS || found.length > SHOWN) && <p className="panel-body quiet small">{text.cut(count(found.length > SHOWN ? SHOWN : ROWS))}</p>}
        </Panel>
      )}
    </>
  );
}
