// steps_settings.mjs - the settings: every part, every control, as owner and as viewer.
/** A key is shown once, with lines to paste, and can be revoked. */
async function keys({ page, server, see, check, picture, data, MARKUP }) {
  await page.getByRole("link", { name: "API keys" }).click();
  await see(page, "No keys yet");
  await page.getByRole("textbox", { name: /^Name/ }).fill(`ci ${MARKUP}`);
  await page.getByLabel("Expires").selectOption("30");
  await page.getByRole("checkbox", { name: "read everything here" }).check();
  await page.getByRole("button", { name: "Make a key" }).click();
  await page.locator("[data-secret]").waitFor();
  const key = await page.locator("[data-secret]").innerText();
  check(/^gpfl_[\w-]{32}$/.test(key), `settings: a key is shown: ${key}`);
  check((await page.locator(".secret .command pre").innerText()).includes(`--server ${server.origin}`), "settings: the line to paste names this server");
  await page.getByRole("button", { name: "Copy the key" }).click();
  await see(page, "Copied");
  check((await page.evaluate(() => navigator.clipboard.readText())) === key, "settings: the key is copied");
  await picture(page, "settings-keys");
  server.upload(key, data);
  await page.getByRole("button", { name: "I have copied it" }).click();
  await page.reload();
  await see(page, "ci <img");
  check((await page.locator("img").count()) === 0 && (await page.title()) !== "taken", "settings: a key's name stays text");
  check(!(await page.content()).includes(key), "settings: a key is shown once");
  await page.getByRole("button", { name: /^Revoke ci/ }).click();
  await picture(page, "settings-revoke", { wide: false });
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await see(page, "revoked");
  const refused = await fetch(`${server.origin}/api/v1/sessions`, { headers: { Authorization: `Bearer ${key}` } });
  check(refused.status === 401, `settings: a revoked key is refused: ${refused.status}`);
}

/** An invitation makes a viewer, who sees what a viewer may. Returns the viewer's page. */
async function invitation({ page, visitor, see, check, picture, MARKUP }) {
  await page.getByRole("link", { name: "Members" }).click();
  await see(page, "Invite somebody");
  await page.getByRole("combobox", { name: "Role", exact: true }).selectOption("viewer");
  await page.getByRole("button", { name: "Make the link" }).click();
  const link = await page.locator(".secret-value").innerText();
  const other = await visitor();
  await other.goto(link);
  await other.locator("input[name=email]").fill("viewer@example.org");
  await other.locator("input[name=password]").fill("another long phrase");
  await other.locator("input[name=name]").fill(MARKUP);
  await picture(other, "invite");
  await other.getByRole("button", { name: "Join" }).click();
  await see(other, "Over days");
  await other.getByRole("link", { name: "Settings" }).click();
  await other.getByRole("link", { name: "API keys" }).click();
  await see(other, "Not with your role");
  await picture(other, "settings-viewer", { wide: false });
  await other.getByRole("link", { name: "Retention" }).click();
  await see(other, "Keep sessions for");
  check((await other.getByRole("button", { name: "Save" }).count()) === 0, "settings: a viewer cannot change the retention");
  await other.getByRole("link", { name: "Members" }).click();
  await see(other, "viewer@example.org");
  check((await other.getByRole("button", { name: "Invite" }).count()) === 0, "settings: a viewer cannot invite");
  return other;
}

/** A viewer becomes a member. The only owner stays one, and the page says why. */
async function roles({ page, see, check, picture, expected }) {
  await page.reload();
  await see(page, "viewer@example.org");
  await picture(page, "settings-members");
  check((await page.locator("img").count()) === 0, "settings: a member's name stays text");
  await page.getByRole("combobox", { name: /^Role of <img/ }).selectOption("member");
  await page.waitForResponse((answer) => answer.url().endsWith("/members") && answer.request().method() === "GET");
  await page.reload();
  await see(page, "viewer@example.org");
  check((await page.getByRole("combobox", { name: /^Role of <img/ }).inputValue()) === "member", "settings: the role has changed");
  // The only owner stays one, and the page says why.
  expected.add(409);
  expected.add(400);
  expected.add(403);
  await page.getByRole("combobox", { name: "Role of Owner" }).selectOption("viewer");
  await page.getByRole("alert").waitFor();
  await page.reload();
}

/** Retention asks before it deletes. */
async function retention({ page, see, check, picture }) {
  await page.getByRole("link", { name: "Retention" }).click();
  await page.getByLabel("Keep sessions for").fill("x");
  await see(page, "A limit is a number above 0");
  await page.getByLabel("Keep sessions for").fill("400");
  await picture(page, "settings-retention");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Save and delete" }).click();
  await see(page, "Saved.");
  await page.reload();
  await page.getByLabel("Keep sessions for").waitFor();
  check((await page.getByLabel("Keep sessions for").inputValue()) === "400", "settings: the retention was kept");
  // Keeping more deletes nothing, so there is no question.
  await page.getByLabel("Keep sessions for").fill("");
  await page.getByRole("button", { name: "Save" }).click();
  await see(page, "Saved.");
}

/** The log of the workspace, and the links, of which there are none. */
async function log({ page, see, picture }) {
  await page.getByRole("link", { name: "Audit log" }).click();
  await see(page, "key.revoke");
  await see(page, "member.join");
  await picture(page, "settings-audit");

  await page.getByRole("link", { name: "Share links" }).click();
  await see(page, "No links");
}

/** The server's settings: another workspace, a link for a forgotten password, a backup. other: the viewer's page. */
async function ofServer({ page, other, see, picture }) {
  await page.getByRole("link", { name: "Server" }).click();
  await see(page, "Make a backup");
  await page.getByLabel("Name").fill("Second");
  await page.getByRole("button", { name: "Make a workspace" }).click();
  await see(page, "Second");
  await page.getByRole("button", { name: "Link for a new password viewer@example.org" }).click();
  const reset = await page.locator(".secret-value").innerText();
  await page.getByRole("button", { name: "Make a backup" }).click();
  await see(page, "The backup ");
  await picture(page, "settings-server");
  await other.goto(reset);
  await other.locator("input[name=password]").fill("a third long phrase");
  await picture(other, "reset", { wide: false });
  await other.getByRole("button", { name: "Set the password" }).click();
  await see(other, "Over days");
}

/** Another workspace has none of the sessions. */
async function workspaces({ page, server, see, picture }) {
  await page.locator(".menu summary").click();
  await page.getByRole("combobox", { name: "Workspace" }).selectOption({ label: "Second" });
  await see(page, "No sessions yet");
  await page.locator(".menu summary").click();
  await picture(page, "account", { wide: false });
  await page.getByRole("combobox", { name: "Workspace" }).selectOption({ label: "Lab" });
  await see(page, "Over days");
  await page.goto(`${server.origin}/settings/server`);
  await page.getByRole("button", { name: "Delete Second" }).click();
  await page.getByRole("dialog").getByLabel("Name").fill("Second");
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByRole("button", { name: "Delete Second" }).waitFor({ state: "detached" });
}

/** People change their own password. */
async function password({ page, see, picture }) {
  await page.getByRole("link", { name: "Your account" }).click();
  await page.getByLabel("Current password").fill("wrong wrong wrong");
  await page.getByLabel("New password").fill("a fourth long phrase");
  await page.getByRole("button", { name: "Change the password" }).click();
  await page.getByRole("alert").waitFor();
  await page.getByLabel("Current password").fill("a long pass phrase");
  await page.getByRole("button", { name: "Change the password" }).click();
  await see(page, "Changed.");
  await picture(page, "settings-account");
}

/** A login ends in the middle of work, and the page stays as it is. */
async function ending({ page, see, check, picture }) {
  await page.getByRole("link", { name: "API keys" }).click();
  await page.getByRole("textbox", { name: /^Name/ }).fill("typed before it ended");
  await page.context().clearCookies();
  await page.getByRole("button", { name: "Make a key" }).click();
  await see(page, "Your login has ended");
  await picture(page, "expired");
  await page.getByRole("dialog").locator("input[name=email]").fill("owner@example.org");
  await page.getByRole("dialog").locator("input[name=password]").fill("a fourth long phrase");
  await page.getByRole("dialog").getByRole("button", { name: "Log in" }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  check((await page.getByRole("textbox", { name: /^Name/ }).inputValue()) === "typed before it ended", "an ended login costs nothing that was typed");
  await page.getByRole("button", { name: "Make a key" }).click();
  await page.locator("[data-secret]").waitFor();
}

export async function settings(world) {
  const { page, server, see, check, picture } = world;
  await page.getByRole("link", { name: "Settings" }).click();
  await see(page, "What roles may do");
  check((await page.locator(".command pre").first().innerText()).includes(server.origin), "settings: the command names this server");
  await picture(page, "settings-workspace");
  await keys(world);
  const other = await invitation(world);
  await roles(world);
  await retention(world);
  await log(world);
  await ofServer({ ...world, other });
  await workspaces(world);
  await password(world);
  await ending(world);
  await other.context().close();
}
