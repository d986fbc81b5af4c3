// usage.ts - the usage of hosts, applications or GPUs day by day, of each or of all together: all
// pages of the server's answer.
import { useState } from "react";
import { client } from "../../api/client";
import type { RowUsageSum } from "../../api/schema";
import { useAsked } from "../../timeline/use";
import type { Range } from "./days";

const PAGE = 1000;

export function useUsage(by: "host" | "app" | "gpu" | "day", { from, to }: Range, name = "") {
  const [round, setRound] = useState(0);
  const asked = useAsked(`usage ${round} ${by} ${from} ${to} ${name}`, async (signal) => {
    const rows: RowUsageSum[] = [];
    for (let after: string | undefined; ; ) {
      const page = await client.get("usage", { by, from, to, limit: PAGE, ...(name ? { name } : {}), ...(after ? { after } : {}) }, signal);
      rows.push(...page.rows);
      if (!page.next) return rows;
      after = page.next;
    }
  });
  return { rows: asked.data, problem: asked.problem, again: () => setRound((n) => n + 1) };
}
