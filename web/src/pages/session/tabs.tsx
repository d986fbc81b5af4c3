// tabs.tsx - the views of a session, in order. A row is all that it takes to add one; a view gets the
// session's row and asks for the rest itself. A view comes when it is first opened.
import { lazy, type ComponentType } from "react";
import type { RowSession } from "../../api/schema";

export interface TabProps {
  session: RowSession;
}

const from = <M,>(load: () => Promise<M>, view: (module: M) => ComponentType<TabProps>): ComponentType<TabProps> => lazy(() => load().then((module) => ({ default: view(module) })));

export const TABS: readonly { id: string; view: ComponentType<TabProps> }[] = [
  { id: "insights", view: from(() => import("../insights/InsightsTab"), (m) => m.InsightsTab) },
  { id: "timeline", view: from(() => import("../../timeline/TimelineTab"), (m) => m.TimelineTab) },
  { id: "kernels", view: from(() => import("../kernels/KernelsTab"), (m) => m.KernelsTab) },
  { id: "scopes", view: from(() => import("../scopes/ScopesTab"), (m) => m.ScopesTab) },
  { id: "syncs", view: from(() => import("../syncs/SyncsTab"), (m) => m.SyncsTab) },
  { id: "flame", view: from(() => import("../flame/FlameTab"), (m) => m.FlameTab) },
  { id: "memory", view: from(() => import("../memory/MemoryTab"), (m) => m.MemoryTab) },
  { id: "system", view: from(() => import("../system/SystemTab"), (m) => m.SystemTab) },
  { id: "raw", view: from(() => import("../raw/RawTab"), (m) => m.RawTab) },
];
