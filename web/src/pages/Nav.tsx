// Nav.tsx - where one can go, and where one is. A link's bearer sees one session, and no other page.
import type { Me } from "../api/schema";
import { who } from "../api/who";
import { Link } from "../router/Link";
import { href, type PageId, type Place } from "../router/router";
import { en } from "../text/en";
import { useCurrent } from "../ui/current";

const PAGES = ["fleet", "sessions", "compare", "trends", "sql", "alerts", "upload", "settings"] as const;
/** `gpufl view` shows the sessions of a folder. */
const VIEW: readonly PageId[] = ["sessions", "compare", "trends", "sql"];

/** The pages in the bar, and among the commands. */
export const pagesFor = (me: Me | undefined): readonly (typeof PAGES)[number][] => (me?.view ? PAGES.filter((page) => VIEW.includes(page)) : PAGES);

/** The parts of a page's address. */
export const pathOf = (page: PageId): Record<string, string> => (page === "settings" ? { part: "workspace" } : {});
/** Pages that belong to another one in the bar. */
const PART_OF: Partial<Record<PageId, PageId>> = { session: "sessions", kernel: "sessions", run: "sessions", host: "fleet", sums: "trends" };

/** me: undefined as long as nobody has answered; what is likely stands then already. */
export function MainNav({ place, me }: { place: Place; me: Me | undefined }) {
  const here = place.page && (PART_OF[place.page] ?? place.page);
  const bar = useCurrent(here);
  if (me ? me.kind === "share" : who.link) return null;
  return (
    <nav className="main-nav" ref={bar} aria-label={en.nav.main}>
      {pagesFor(me).map((page) => (
        <Link key={page} href={href(page, pathOf(page))} aria-current={page === here ? "page" : undefined}>
          {en.nav.pages[page]}
        </Link>
      ))}
    </nav>
  );
}

export function Crumbs({ place }: { place: Place }) {
  const session = place.path.session;
  if (!session) return <span className="crumbs" />;
  return (
    <nav className="crumbs" aria-label={en.nav.label}>
      <span aria-hidden="true">/</span>
      <Link className="ellipsis mono" href={href("session", { session, tab: "insights" })}>
        {session.slice(0, 8)}
      </Link>
    </nav>
  );
}
