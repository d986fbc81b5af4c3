// tabs.tsx - the views of a session, in order. A new view needs one row here. A view gets the
// session's row and the answers that the header asks for; it asks for the rest itself. A view is
// loaded when it is first opened.
import type { ComponentType } from "react";
import type { RowSession } from "../../api/schema";
import type { Asked } from "../../api/use";
import { part, type Part } from "../../ui/Boundary";
import { Skeleton } from "../../ui/parts";

export interface TabProps {
  session: RowSession;
  ledger: Asked<unknown>; // the header asks for this part of the report, once the session is analysed
}

const tab = <M,>(load: () => Promise<M>, view: (module: M) => ComponentType<TabProps>): Part<TabProps> => part(load, view, <Skeleton rows={8} />);

export const TABS: readonly { id: string; view: Part<TabProps> }[] = [
  { id: "insights", view: tab(() => import("../insights/InsightsTab"), (m) => m.InsightsTab) },
  { id: "timeline", view: tab(() => import("../timeline/TimelinePage"), (m) => m.TimelinePage) },
  { id: "kernels", view: tab(() => import("../kernels/KernelsTab"), (m) => m.KernelsTab) },
  { id: "scopes", view: tab(() => import("../scopes/ScopesTab"), (m) => m.ScopesTab) },
  { id: "steps", view: tab(() => import("../steps/StepsTab"), (m) => m.StepsTab) },
  { id: "syncs", view: tab(() => import("../syncs/SyncsTab"), (m) => m.SyncsTab) },
  { id: "flame", view: tab(() => import("../flame/FlameTab"), (m) => m.FlameTab) },
  { id: "memory", view: tab(() => import("../memory/MemoryTab"), (m) => m.MemoryTab) },
  { id: "system", view: tab(() => import("../system/SystemTab"), (m) => m.SystemTab) },
  { id: "raw", view: tab(() => import("../raw/RawTab"), (m) => m.RawTab) },
];
