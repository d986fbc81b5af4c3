// security.mjs - stored markup stays text: a session, an account, a workspace, a key, a rule, labels and
// members whose names are scripts, on every page; the policy of the server's answers holds; objects
// of another workspace are not visible.
//   node tests/e2e/security.mjs BIN OUT
import { crawl, rest } from "./crawl.mjs";
import { makeHarness, PATIENCE_MS, startBrowser, until } from "./harness.mjs";
import { hostileSession, nasty } from "./hostile.mjs";
import { complete, send } from "./sessions.mjs";
import { ACCOUNT, startServer } from "./server.mjs";

const [bin, out] = process.argv.slice(2);
const browser = await startBrowser(out);
const t = makeHarness(out);
const server = await startServer(bin);
const { origin } = server;
const { check, wrong } = t;
t.expected.add(403);

/** The fields whose names must be visible on some page. */
const FIELDS = ["app", "host", "gpu", "kernel", "scope", "function", "file", "source", "feature", "reason", "label", "member", "workspace", "key", "rule", "sass", "stall"];
const seen = new Set();

/** A page in a browser of its own; `answers` gets the server's answers to the page. */
async function visitor(answers = []) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce" });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  t.watch(page, origin);
  await page.addInitScript(() => document.addEventListener("securitypolicyviolation", (event) => console.error(`the policy refused ${event.violatedDirective} ${event.blockedURI}`)));
  page.on("response", (answer) => answer.url().includes("/api/") && answers.push({ url: answer.url(), status: answer.status(), text: answer.text().catch(() => "") }));
  return page;
}

const ask = (page, method, path, body) =>
  page.evaluate(
    async ([verb, to, sent]) => {
      const me = await (await fetch("/api/v1/auth/me")).json();
      const answer = await fetch(`/api/v1/${to}`, { method: verb, headers: { "Content-Type": "application/json", "X-CSRF-Token": me.csrf }, ...(sent ? { body: JSON.stringify(sent) } : {}) });
      const text = await answer.text();
      if (!answer.ok) throw new Error(`${verb} ${to}: ${answer.status} ${text}`);
      return text ? JSON.parse(text) : undefined;
    },
    [method, path, body],
  );

async function join(page, link, fields) {
  await page.goto(link);
  for (const [name, value] of Object.entries(fields)) await page.locator(`input[name=${name}]`).fill(value);
  await page.getByRole("button").filter({ hasText: /Make the account|Join/ }).click();
  await page.waitForURL(`${origin}/`);
}

/** Checks the page as it is now: no text became markup, nothing ran, and no link is a script. */
async function textOnly(page, where) {
  const found = await page.evaluate(() => ({
    taken: window.taken,
    elements: [...document.querySelectorAll("#taken, img, iframe, object, embed, script:not([src]), [onerror], [onload], [onclick]")].map((element) => element.outerHTML.slice(0, 100)),
    links: [...document.querySelectorAll("a[href], form[action], [src]")].map((element) => element.href || element.action || element.src).filter((to) => typeof to === "string" && to && !/^(https?|blob):/.test(to)),
    text: document.body.innerText + [...document.querySelectorAll("[title], [aria-label], option, input")].map((element) => `${element.title} ${element.ariaLabel ?? ""} ${element.textContent} ${element.value ?? ""}`).join(" "),
    acting: /[\u0000\u202a-\u202e\u2066-\u2069]/.test(document.body.innerText + document.title),
  }));
  check(found.taken === undefined, `${where}: a name's script ran (${found.taken})`);
  check(found.elements.length === 0, `${where}: names became markup: ${found.elements.join(" | ")}`);
  check(found.links.length === 0, `${where}: links to ${found.links.join(" | ")}`);
  check(!found.acting, `${where}: letters that turn others around stand in the text`);
  for (const field of FIELDS) if (found.text.includes(`${field} <script>window.taken=1</script><img src=x onerror="window.taken=2">`)) seen.add(field);
}

async function begin(page) {
  await join(page, await server.printed(/first account at (\S+)/), { ...ACCOUNT, name: nasty("member"), workspace_name: nasty("workspace").slice(0, 200) });
  const { key } = await ask(page, "POST", "keys", { name: nasty("key").slice(0, 255), scopes: "ingest" });
  const made = hostileSession("5ec0de00-0000-4000-8000-000000000001");
  for (const [channel, lines] of Object.entries(made.channels)) await send(origin, key, made, channel, lines);
  await complete(origin, key, made);
  await until(page, async (id) => (await (await fetch(`/api/v1/sessions/${id}`)).json()).analyzed, made.id);
  await ask(page, "PUT", `sessions/${made.id}/labels/${encodeURIComponent("a <b>")}`, { value: nasty("label") });
  await ask(page, "POST", "alerts", { name: nasty("rule").slice(0, 200), kind: "metric", subject: "host.cpu", threshold: 1, url: "http://10.255.255.1:9/javascript:window.taken=5" });
  await ask(page, "POST", `sessions/${made.id}/shares`, { expires: "9000000000000000000" });
  return made;
}

/** Checks every page, and what opens on it. */
async function everywhere(page, made) {
  const paths = await crawl(page, origin, ["/", `/sessions/${made.id}/insights`], async (path) => {
    await textOnly(page, path);
    const places = page.locator("main button.place");
    if ((await places.count()) > 0) {
      await places.first().click();
      await page.locator("dialog[open]").waitFor();
      await page.locator(".source-here").waitFor();
      await textOnly(page, `${path}, a line`);
      await page.keyboard.press("Escape");
    }
  });
  check(paths.length >= 22, `pages: ${paths.join(" ")}`);
  for (const [query, ready] of [
    ["timeline?find=kernel", ".tl-below h2"],
    [`timeline?range=0-${1e9}`, ".tl-below table, .tl-below dl"],
    ["kernels?search=kernel", "tbody tr"],
  ]) {
    await page.goto(`${origin}/sessions/${made.id}/${query}`);
    await page.locator(ready).first().waitFor();
    await textOnly(page, query);
  }
  await page.goto(`${origin}/compare?a=${made.id}&b=${made.id}`);
  await rest(page);
  await textOnly(page, "compare");
  await page.keyboard.press("Control+k");
  await page.getByRole("option").filter({ hasText: "app <script>" }).waitFor();
  await textOnly(page, "commands");
  const missing = FIELDS.filter((field) => !seen.has(field));
  check(missing.length === 0, `names that no page shows as they are: ${missing.join(", ")}`);
  return paths;
}

/** Text from the address is not trusted, either. */
async function addresses(page, made) {
  const bad = encodeURIComponent(nasty("address"));
  const queries = ["text", "label", "account", "app", "sort", "find", "search", "line", "at", "range", "sel", "pin", "closed", "rows", "zoom", "by", "a", "b", "view", "from", "to", "code", "next"].map((name) => `${name}=${bad}`).join("&");
  const part = encodeURIComponent(`<img src=x onerror="taken=6">\u202e`); // a path with a dot means a file, which the server does not have
  for (const path of ["/", "/sessions", `/sessions/${made.id}/insights`, `/sessions/${made.id}/timeline`, `/sessions/${made.id}/kernels`, `/sessions/${made.id}/flame`, `/sessions/${made.id}/scopes`, `/sessions/${made.id}/${part}`, `/sessions/${part}/insights`, `/sessions/${made.id}/kernels/${part}`, "/compare", "/alerts", `/settings/${part}`, `/${part}`, "/login", "/share", "/invite", "/reset"]) {
    t.expected.add(400);
    await page.goto(`${origin}${path}?${queries}#${bad}`);
    await page.locator("main h1, main h2, main form").first().waitFor();
    await textOnly(page, `${path.slice(0, 60)} with markup in the address`);
  }
}

/** Answers have the policy, and what it forbids does not happen. */
async function policy(page, made) {
  const answer = await page.goto(`${origin}/sessions`);
  const headers = answer.headers();
  const rules = Object.fromEntries(headers["content-security-policy"].split(";").map((rule) => rule.trim().split(/\s+/)).map(([name, ...of]) => [name, of.join(" ")]));
  check((rules["script-src"] ?? rules["default-src"]) === "'self'", `policy: scripts of ${rules["script-src"] ?? rules["default-src"]}`);
  check(!/unsafe|\*|data:/.test(rules["script-src"] ?? rules["default-src"]), "policy: nothing unsafe");
  check(rules["frame-ancestors"] === "'none'" && rules["base-uri"] !== undefined && rules["object-src"] !== undefined || rules["default-src"] === "'none'", `policy: ${headers["content-security-policy"]}`);
  check(headers["x-content-type-options"] === "nosniff", "policy: types are not guessed");
  const before = wrong.length;
  await page.evaluate(() => {
    const inline = document.createElement("script");
    inline.textContent = "window.taken = 9";
    document.head.append(inline);
    const handler = document.createElement("b");
    handler.setAttribute("onclick", "window.taken = 9");
    document.body.append(handler);
    handler.click();
    new Image().src = "http://127.0.0.1:1/x.png";
  });
  check((await page.evaluate(() => window.taken)) === undefined, "policy: an inline script ran");
  await page.waitForFunction(() => document.body !== null);
  const refused = wrong.splice(before);
  check(refused.filter((line) => line.includes("the policy refused")).length >= 2, `policy: what it refuses is reported: ${refused.join(" | ")}`);
  for (const route of [`sessions/${made.id}`, `sessions/${made.id}/report`, `sessions/${made.id}/flame`, `sessions/${made.id}/source?path=${encodeURIComponent(nasty("file").replace("\u202e", ""))}`]) {
    const answer = await page.request.get(`${origin}/api/v1/${route}`);
    check(!/html|svg|javascript/.test(answer.headers()["content-type"] ?? ""), `${route}: is ${answer.headers()["content-type"]}`);
    check(answer.headers()["x-content-type-options"] === "nosniff", `${route}: its type may be guessed`);
  }
}

/** A member of another workspace opens the addresses of this workspace's pages. */
async function strangers(page, made, paths) {
  const { id } = await ask(page, "POST", "workspaces", { name: "Other" });
  const { token } = await ask(page, "POST", `invitations?workspace=${id}`, { role: "owner" });
  const answers = [];
  const stranger = await visitor(answers);
  await join(stranger, `${origin}/invite#token=${token}`, { email: "stranger@example.org", password: "a stranger's phrase", name: "Stranger" });
  const theirs = [...paths.filter((path) => path.includes(made.id)), `/compare?a=${made.id}&b=${made.id}`];
  check(theirs.length >= 9, `another workspace: ${theirs.length} addresses`);
  for (const path of theirs) {
    answers.length = 0;
    await stranger.goto(origin + path);
    await stranger.getByRole("alert").first().waitFor();
    const text = await stranger.locator("body").innerText();
    check(/deleted, or belong to another workspace/.test(text), `${path}: another workspace's page says ${text.slice(0, 200)}`);
    check(!text.includes("window.taken"), `${path}: another workspace's names are shown`);
    for (const answer of answers) {
      if (!answer.url.includes(made.id)) continue;
      check(answer.status === 404, `${path}: ${answer.url} answers ${answer.status}`);
      check(!(await answer.text).includes("window.taken"), `${path}: ${answer.url} has names of another workspace`);
    }
  }
  await stranger.goto(`${origin}/sessions`);
  await stranger.getByText("No sessions yet").waitFor();
  await stranger.context().close();
}

try {
  const page = await visitor();
  const made = await begin(page);
  const paths = await everywhere(page, made);
  await addresses(page, made);
  await policy(page, made);
  await strangers(page, made, paths);
} catch (error) {
  await browser.contexts().at(-1)?.pages()[0]?.screenshot({ path: `${out}/failed-security.png` }).catch(() => undefined);
  wrong.push(String(error?.stack ?? error));
} finally {
  await browser.close();
  await server.stop();
}
process.exitCode = t.finish("markup in every name");
