// table.tsx - the pages at the addresses of router/pages.ts. A page is loaded when it is first
// opened, so that the first screen stays small.
import type { ComponentType } from "react";
import type { PageId } from "../router/pages";
import type { Place } from "../router/router";
import { part, type Part } from "../ui/Boundary";
import { Skeleton } from "../ui/parts";
import { TABS } from "./session/tabs";

export interface PageProps {
  path: Record<string, string>;
}

const page = <M,>(load: () => Promise<M>, view: (module: M) => ComponentType<PageProps>): Part<PageProps> => part(load, view, <Skeleton rows={8} />);

export const VIEWS: Record<PageId, Part<PageProps>> = {
  fleet: page(() => import("./fleet/FleetPage"), (m) => m.FleetPage),
  sessions: page(() => import("./sessions/SessionsPage"), (m) => m.SessionsPage),
  session: page(() => import("./session/SessionPage"), (m) => ({ path }) => <m.SessionPage id={path.session!} tab={path.tab!} />),
  kernel: page(() => import("./kernels/KernelPage"), (m) => ({ path }) => <m.KernelPage session={path.session!} name={Number(path.name)} />),
  run: page(() => import("./run/RunPage"), (m) => ({ path }) => <m.RunPage run={path.run!} />),
  compare: page(() => import("./compare/ComparePage"), (m) => m.ComparePage),
  trends: page(() => import("./trends/TrendsPage"), (m) => m.TrendsPage),
  sums: page(() => import("./sums/SumsPage"), (m) => m.SumsPage),
  sql: page(() => import("./sql/SqlPage"), (m) => m.SqlPage),
  host: page(() => import("./fleet/HostPage"), (m) => ({ path }) => <m.HostPage name={path.host!} />),
  alerts: page(() => import("./alerts/AlertsPage"), (m) => m.AlertsPage),
  upload: page(() => import("./upload/UploadPage"), (m) => m.UploadPage),
  settings: page(() => import("./settings/SettingsPage"), (m) => ({ path }) => <m.SettingsPage part={path.part!} />),
  login: page(() => import("./login/LoginPage"), (m) => m.LoginPage),
  setup: page(() => import("./login/LoginPage"), (m) => m.SetupPage),
  invite: page(() => import("./login/LoginPage"), (m) => m.InvitePage),
  reset: page(() => import("./login/LoginPage"), (m) => m.ResetPage),
  share: page(() => import("./login/SharePage"), (m) => m.SharePage),
};

/** Loads a page and its contents together. */
export function begin({ page, path }: Place): void {
  if (page) void VIEWS[page].begin();
  if (page === "session") void TABS.find((tab) => tab.id === path.tab)?.view.begin();
}
