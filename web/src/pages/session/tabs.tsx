// tabs.tsx - the views of a session, in order. A row is all that it takes to add one; a view gets the
// session's row and asks for the rest itself. A view comes when it is first opened.
import type { ComponentType } from "react";
import type { RowSession } from "../../api/schema";
import { part } from "../../ui/Boundary";

export interface TabProps {
  session: RowSession;
}

export const TABS: readonly { id: string; view: ComponentType<TabProps> }[] = [
  { id: "insights", view: part(() => import("../insights/InsightsTab"), (m) => m.InsightsTab) },
  { id: "timeline", view: part(() => import("../timeline/TimelinePage"), (m) => m.TimelinePage) },
  { id: "kernels", view: part(() => import("../kernels/KernelsTab"), (m) => m.KernelsTab) },
  { id: "scopes", view: part(() => import("../scopes/ScopesTab"), (m) => m.ScopesTab) },
  { id: "steps", view: part(() => import("../steps/StepsTab"), (m) => m.StepsTab) },
  { id: "syncs", view: part(() => import("../syncs/SyncsTab"), (m) => m.SyncsTab) },
  { id: "flame", view: part(() => import("../flame/FlameTab"), (m) => m.FlameTab) },
  { id: "memory", view: part(() => import("../memory/MemoryTab"), (m) => m.MemoryTab) },
  { id: "system", view: part(() => import("../system/SystemTab"), (m) => m.SystemTab) },
  { id: "raw", view: part(() => import("../raw/RawTab"), (m) => m.RawTab) },
];
