// table.tsx - which page stands at which address. Pages come when they are first opened, so that the
// first screen stays small.
import { lazy, type ComponentType, type LazyExoticComponent } from "react";
import type { PageId } from "../router/router";

export interface PageProps {
  path: Record<string, string>;
}
type Page = LazyExoticComponent<ComponentType<PageProps>>;

const from = <M,>(load: () => Promise<M>, view: (module: M) => ComponentType<PageProps>): Page => lazy(() => load().then((module) => ({ default: view(module) })));

export const VIEWS: Record<PageId, Page> = {
  fleet: from(() => import("./fleet/FleetPage"), (m) => m.FleetPage),
  sessions: from(() => import("./sessions/SessionsPage"), (m) => m.SessionsPage),
  session: from(() => import("./session/SessionPage"), (m) => ({ path }) => <m.SessionPage id={path.session!} tab={path.tab!} />),
  kernel: from(() => import("./kernels/KernelPage"), (m) => ({ path }) => <m.KernelPage session={path.session!} name={Number(path.name)} />),
  compare: from(() => import("./compare/ComparePage"), (m) => m.ComparePage),
  trends: from(() => import("./trends/TrendsPage"), (m) => m.TrendsPage),
  host: from(() => import("./fleet/HostPage"), (m) => ({ path }) => <m.HostPage name={path.host!} />),
  alerts: from(() => import("./alerts/AlertsPage"), (m) => m.AlertsPage),
  upload: from(() => import("./upload/UploadPage"), (m) => m.UploadPage),
  settings: from(() => import("./settings/SettingsPage"), (m) => ({ path }) => <m.SettingsPage part={path.part!} />),
  login: from(() => import("./login/LoginPage"), (m) => m.LoginPage),
  setup: from(() => import("./login/LoginPage"), (m) => m.SetupPage),
  invite: from(() => import("./login/LoginPage"), (m) => m.InvitePage),
  reset: from(() => import("./login/LoginPage"), (m) => m.ResetPage),
  share: from(() => import("./login/SharePage"), (m) => m.SharePage),
};
