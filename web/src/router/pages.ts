// pages.ts - all pages: their addresses, and how people come to them. pages/table.tsx has a row of
// the same name with the page itself.
interface Page<Id> {
  path: string; // {name}: a segment of the address
  standard?: Record<string, string>; // the value of such a segment if the address or a link leaves it out
  menu?: string; // its name in the bar, and among the commands
  key?: string; // the key after "g" that goes there
  under?: NoInfer<Id>; // the page of the bar that it belongs to
  view?: true; // `gpufl view`, which shows the sessions of a folder, has it in the bar, too
  outside?: true; // for visitors without a login; the page asks for no login
}

const table = <Id extends string>(rows: Record<Id, Page<Id>>): Readonly<Record<Id, Page<Id>>> => rows;

/** The bar shows its pages in this order. */
export const PAGES = table({
  fleet: { path: "/", menu: "Fleet", key: "f" },
  sessions: { path: "/sessions", menu: "Sessions", key: "s", view: true },
  session: { path: "/sessions/{session}/{tab}", standard: { tab: "insights" }, under: "sessions" },
  kernel: { path: "/sessions/{session}/kernels/{name}", under: "sessions" },
  run: { path: "/runs/{run}", under: "sessions" },
  compare: { path: "/compare", menu: "Compare", key: "c", view: true },
  trends: { path: "/trends", menu: "Trends", key: "t", view: true },
  sums: { path: "/sums", under: "trends" },
  sql: { path: "/sql", menu: "SQL", key: "q", view: true },
  host: { path: "/hosts/{host}", under: "fleet" },
  alerts: { path: "/alerts", menu: "Alerts", key: "a" },
  upload: { path: "/upload", menu: "Upload", key: "u" },
  settings: { path: "/settings/{part}", standard: { part: "workspace" }, menu: "Settings", key: "," },
  login: { path: "/login", outside: true },
  setup: { path: "/setup", outside: true },
  invite: { path: "/invite", outside: true },
  reset: { path: "/reset", outside: true },
  share: { path: "/share", outside: true },
});

export type PageId = keyof typeof PAGES;
const IDS = Object.keys(PAGES) as PageId[];

export interface Entry {
  page: PageId;
  name: string; // of the menu
  key: string | undefined;
}

/** The pages of the bar; of `gpufl view` alone. */
export const menu = (view: boolean): Entry[] =>
  IDS.flatMap((page) => {
    const row = PAGES[page];
    return row.menu && (!view || row.view) ? [{ page, name: row.menu, key: row.key }] : [];
  });

/** Whether `gpufl view` has the page: those of its bar, what belongs to them, and its first one. */
export function isOfView(page: PageId): boolean {
  const { view, under } = PAGES[page];
  return page === "fleet" || view === true || (under !== undefined && PAGES[under].view === true);
}

/** The page that a letter after "g" goes to, among the available pages. */
export const pageOfKey = (key: string, pages: readonly Entry[]): PageId | undefined => pages.find((entry) => entry.key === key)?.page;

const segments = (path: string): string[] => path.split("/").filter(Boolean);

/** The page at an address, and the named segments of the address. */
export function pageAt(have: readonly string[]): { page: PageId; path: Record<string, string> } | null {
  for (const page of IDS) {
    const { path: pattern, standard = {} } = PAGES[page];
    const path: Record<string, string> = {};
    const want = segments(pattern);
    const fits = want.every((part, at) => {
      if (!part.startsWith("{")) return part === have[at];
      const name = part.slice(1, -1);
      const value = have[at] ?? standard[name];
      if (value !== undefined) path[name] = value;
      return value !== undefined;
    });
    if (fits && have.length <= want.length) return { page, path };
  }
  return null;
}

/** A page's address. */
export const addressOf = (page: PageId, path: Record<string, string | number>): string =>
  PAGES[page].path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(path[name] ?? PAGES[page].standard?.[name])));
