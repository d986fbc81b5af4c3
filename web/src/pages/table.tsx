// table.tsx - which page stands at which address. Pages come when they are first opened, so that the
// first screen stays small.
import type { ComponentType } from "react";
import type { PageId } from "../router/router";
import { part } from "../ui/Boundary";

export interface PageProps {
  path: Record<string, string>;
}

export const VIEWS: Record<PageId, ComponentType<PageProps>> = {
  fleet: part(() => import("./fleet/FleetPage"), (m) => m.FleetPage),
  sessions: part(() => import("./sessions/SessionsPage"), (m) => m.SessionsPage),
  session: part(() => import("./session/SessionPage"), (m) => ({ path }) => <m.SessionPage id={path.session!} tab={path.tab!} />),
  kernel: part(() => import("./kernels/KernelPage"), (m) => ({ path }) => <m.KernelPage session={path.session!} name={Number(path.name)} />),
  run: part(() => import("./run/RunPage"), (m) => ({ path }) => <m.RunPage run={path.run!} />),
  compare: part(() => import("./compare/ComparePage"), (m) => m.ComparePage),
  trends: part(() => import("./trends/TrendsPage"), (m) => m.TrendsPage),
  sums: part(() => import("./sums/SumsPage"), (m) => m.SumsPage),
  sql: part(() => import("./sql/SqlPage"), (m) => m.SqlPage),
  host: part(() => import("./fleet/HostPage"), (m) => ({ path }) => <m.HostPage name={path.host!} />),
  alerts: part(() => import("./alerts/AlertsPage"), (m) => m.AlertsPage),
  upload: part(() => import("./upload/UploadPage"), (m) => m.UploadPage),
  settings: part(() => import("./settings/SettingsPage"), (m) => ({ path }) => <m.SettingsPage part={path.part!} />),
  login: part(() => import("./login/LoginPage"), (m) => m.LoginPage),
  setup: part(() => import("./login/LoginPage"), (m) => m.SetupPage),
  invite: part(() => import("./login/LoginPage"), (m) => m.InvitePage),
  reset: part(() => import("./login/LoginPage"), (m) => m.ResetPage),
  share: part(() => import("./login/SharePage"), (m) => m.SharePage),
};
