// tabs.tsx - the views of a session, in order. A row is all that it takes to add one; a view gets the
// session's row and asks for the rest itself.
import type { ComponentType } from "react";
import type { RowSession } from "../../api/schema";
import { InsightsTab } from "../insights/InsightsTab";
import { KernelsTab } from "../kernels/KernelsTab";
import { RawTab } from "../raw/RawTab";
import { ScopesTab } from "../scopes/ScopesTab";
import { SyncsTab } from "../syncs/SyncsTab";
import { SystemTab } from "../system/SystemTab";

export interface TabProps {
  session: RowSession;
}

export const TABS: readonly { id: string; view: ComponentType<TabProps> }[] = [
  { id: "insights", view: InsightsTab },
  { id: "kernels", view: KernelsTab },
  { id: "scopes", view: ScopesTab },
  { id: "syncs", view: SyncsTab },
  { id: "system", view: SystemTab },
  { id: "raw", view: RawTab },
];
