import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { close, content, opened, server, signedIn } from "./browser.mjs";

after(close);

/** What the page tells to do, done as it stands: the secret is kept, and a daemon does one cycle. */
async function follow(page, cwd) {
  const region = page.getByRole("region", { name: "The new secret" });
  const secret = await region.getByRole("status").locator("code").first().innerText();
  const [, keep, config] = await region.locator("li code").allInnerTexts();
  execFileSync("bash", ["-c", keep], { cwd, input: `${secret}\n` });
  writeFileSync(join(cwd, "config.yaml"), config, { mode: 0o600 });
  const home = { ...process.env, HOME: cwd, XDG_STATE_HOME: cwd };
  execFileSync(process.env.STORY_PYTHON, ["-m", "cableferry.cli.main", "daemon", "once", "--simulate", "-c", "config.yaml"], { cwd, env: home, stdio: "pipe" });
  return secret;
}

test("a worker is added by what the page says, its secret is rotated and revoked, and it is removed", async () => {
  const page = await signedIn();
  const cwd = mkdtempSync(join(tmpdir(), "ferry-"));
  await page.goto(`${server}/ui/workers`);
  await page.getByRole("button", { name: "Add a worker" }).click();
  await page.getByLabel("Name").fill("story-head");
  await page.getByRole("button", { name: "Issue its secret" }).click();
  const first = await follow(page, cwd);
  assert.equal(readFileSync(join(cwd, "story-head.secret"), "utf8"), first);

  await page.getByRole("link", { name: "Workers" }).click();
  const row = page.getByRole("row", { name: /story-head/ });
  await row.getByText("alive").waitFor();
  await row.getByText("count-words").waitFor();
  await row.getByRole("link", { name: "story-head" }).click();
  await page.getByRole("button", { name: "Make a new one" }).click();
  await page.getByLabel("Hours").fill("0");
  await page.getByRole("dialog").getByRole("button", { name: "Make it" }).click();
  assert.notEqual(await follow(page, cwd), first);
  await page.getByText("REVOKED").waitFor();
  await page.getByRole("button", { name: "Revoke", exact: true }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke it" }).click();
  await page.getByText("The secret counts no longer.").waitFor();
  await page.getByRole("button", { name: "Remove" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Remove it" }).click();
  await page.getByText("The worker is removed.").waitFor();
  await row.waitFor({ state: "detached" });
  content(page);
});

test("a Viewer is offered nothing that would be refused, and is refused it", async () => {
  const made = await fetch(`${server}/api/ui/users`, {
    method: "POST",
    headers: { Authorization: `Bearer ${process.env.STORY_TOKEN}`, "Content-Type": "application/json" },
    body: JSON.stringify({ name: "vera", role: "Viewer", password: "only looks at the ferry" }),
  });
  assert.equal(made.status, 201);
  const page = await opened();
  await page.goto(`${server}/ui/workers`);
  await page.getByLabel("Name").fill("vera");
  await page.getByLabel("Password").fill("only looks at the ferry");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("button", { name: "Sign out" }).waitFor();
  const offered = { workers: "Add a worker", "workers/demo-worker": "Remove", artifacts: "New artifact", jobs: "New job" };
  for (const [place, button] of Object.entries(offered)) {
    await page.goto(`${server}/ui/${place}`);
    await page.locator("main h1").first().waitFor();
    assert.equal(await page.getByRole("button", { name: button }).count(), 0, place);
  }
  await page.goto(`${server}/ui/settings`);
  await page.getByText("Not for your role").waitFor();
  const status = await page.evaluate(async () => {
    const me = await (await fetch("../api/ui/me")).json();
    const headers = { "X-CSRF-Token": me.csrf_token, "X-EMX2-API-Version": "2025-01", "X-Request-Id": crypto.randomUUID(), "X-Timestamp": String(Math.floor(Date.now() / 1000)) };
    return (await fetch("../api/hpc/workers/mine/credentials/issue", { method: "POST", headers })).status;
  });
  assert.equal(status, 403);
  content(page);
});
