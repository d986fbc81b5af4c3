// Launched.tsx - the kernels that a line has launched, in the window of the line: each leads to its own page. Nothing where
// no launch there has a stack.
import { useMemo } from "react";
import { client } from "../../api/client";
import { useApi } from "../../api/use";
import { count } from "../../format/format";
import { Link } from "../../router/Link";
import { href } from "../../router/router";
import { useAsked } from "../../timeline/use";
import { en } from "../../text/en";
import { Listing, timeColumn, type Column } from "../../ui/Listing";
import { Name } from "../../ui/Name";
import { stacksOf } from "../flame/tree";
import { kernelsOf, LISTED } from "../kernels/kernel";
import { kernelsAt, type LaunchedKernel } from "./launched";

const text = en.insights;
const SHOWN = 8;
const SEARCHED_MOST = 256; // letters

export function Launched({ session, file, line }: { session: string; file: string; line: number }) {
  const flame = useAsked(`flame ${session}`, () => client.text("flame", { session }));
  const found = useMemo(() => kernelsAt(stacksOf(flame.data ?? "").get("GPU") ?? [], file, line), [flame.data, file, line]);
  const list = useApi("kernels", found.length > 0 ? { session, limit: LISTED } : null);
  const settled = list.data !== undefined || list.problem !== undefined;
  const kernels = useMemo(() => (list.data ? kernelsOf(list.data) : []), [list.data]);
  if (found.length === 0) return null;
  const columns: Column<LaunchedKernel>[] = [
    {
      label: text.launchedColumns.kernel,
      className: "mono wrap",
      show: ({ name }) => {
        const alike = kernels.filter((kernel) => kernel.short === name); // stacks of GPU time have the short names
        const [kernel] = alike;
        if (!settled) return name; // where it leads is not known yet
        const to = kernel && alike.length === 1 ? href("kernel", { session, name: kernel.id }) : href("session", { session, tab: "kernels" }, { search: name.slice(0, SEARCHED_MOST) });
        return (
          <Link href={to}>
            <Name short={name} full={kernel?.name ?? name} />
          </Link>
        );
      },
    },
    timeColumn(text.launchedColumns.time, ({ ns }) => ns),
  ];
  return (
    <div>
      <p className="panel-body">
        <strong>{text.launched}</strong> <span className="quiet small">{text.launchedText}</span>
      </p>
      <Listing label={text.launched} columns={columns} rows={found.slice(0, SHOWN)} keyOf={({ name }) => name} />
      {found.length > SHOWN && <p className="panel-body quiet small">{text.launchedMore(count(found.length - SHOWN))}</p>}
    </div>
  );
}
