import assert from "node:assert/strict";
import { api, asked, content, server, signedIn, signedInAs, story } from "./browser.mjs";

const PASSWORD = "only looks at the ferry";

async function person(role) {
  const name = `${role.toLowerCase()}-${Date.now().toString(36)}`;
  assert.equal((await asked("POST", "/api/ui/users", { name, role, password: PASSWORD })).status, 201);
  return { name, page: await signedInAs(name, PASSWORD) };
}

const confirmed = (page, name) => page.getByRole("dialog").getByRole("button", { name }).click();

story("a worker is drained and let work again, and the pages say why its jobs wait and what it is", async () => {
  const page = await signedIn();
  const worker = { worker_id: "drains", capabilities: [{ processor: "drained-work", max_concurrent_jobs: 2 }] };
  await asked("POST", "/api/hpc/workers/register", { ...worker, session: { id: "boot-0042", host: "login9", pid: 7 } }, { "User-Agent": "field-daemon/1.4" });
  const lost = await api("POST", "jobs", { processor: "drained-work" });
  await api("POST", `jobs/${lost.id}/claim`, { worker_id: "drains" });
  await api("POST", `jobs/${lost.id}/transition`, { worker_id: "drains", status: "FAILED", detail: "exit_code=3: no such tree" });
  const late = { "X-Timestamp": String(Math.floor(Date.now() / 1000) - 120), "X-Worker-Session": "boot-0042", "User-Agent": "field-daemon/1.4" };
  await asked("POST", "/api/hpc/workers/drains/sync", { trouble: "squeue: not found" }, late);
  await page.goto(`${server}/ui/workers`);
  const row = page.getByRole("row", { name: /drains/ });
  await row.getByText("in trouble").waitFor();
  await row.getByText("field-daemon/1.4").waitFor();
  await row.getByRole("img", { name: "0 completed, 1 failed in 24 h" }).waitFor();
  await row.getByRole("link", { name: "drains" }).click();
  await page.getByRole("alert").getByText("squeue: not found").waitFor();
  await page.getByText(/^(1 min 5\d|2 min \d) s behind ours$|^2 min \d+ s behind ours$/).waitFor();
  await page.getByTitle("boot-0042").waitFor();
  await page.getByRole("region", { name: "Latest failures" }).getByText("no such tree").waitFor();

  const job = await api("POST", "jobs", { processor: "drained-work" });
  await page.getByRole("button", { name: "Drain" }).click();
  await confirmed(page, "Drain it");
  await page.getByText("It takes no more jobs: user:demo").waitFor();
  assert.equal((await asked("POST", `/api/hpc/jobs/${job.id}/claim`, { worker_id: "drains" }, { "X-Worker-Session": "boot-0042" })).status, 409);
  await page.goto(`${server}/ui/waiting`);
  const queue = page.getByRole("row", { name: /drained-work/ });
  await queue.getByText("is being drained: it takes jobs again when somebody lets it.").waitFor();
  await queue.getByRole("link", { name: job.id.slice(0, 13) }).click();
  await page.getByText("is being drained").first().waitFor();

  await page.goto(`${server}/ui/workers/drains`);
  await page.getByRole("button", { name: "Let it take jobs" }).click();
  await page.getByText("The worker takes jobs again.").waitFor();
  assert.equal((await asked("POST", `/api/hpc/jobs/${job.id}/claim`, { worker_id: "drains" }, { "X-Worker-Session": "boot-0042" })).status, 200);
  await asked("DELETE", "/api/hpc/workers/drains");
  content(page);
});

story("operators see what happened, who did it, what came and went, and what the server does by itself", async () => {
  const page = await signedIn();
  const job = await api("POST", "jobs", { processor: "is-audited" });
  await api("POST", `jobs/${job.id}/cancel`, { detail: "it was enough" });
  const artifact = await api("POST", "artifacts", { type: "blob", name: "goes" });
  await api("PUT", `artifacts/${artifact.id}/files/x.bin`, Buffer.alloc(2 * 1024 * 1024), "application/octet-stream");
  await asked("DELETE", `/api/hpc/artifacts/${artifact.id}`);
  await page.goto(`${server}/ui/audit?status=CANCELLED`);
  const move = page.getByRole("row", { name: /is-audited/ }).first();
  await move.getByText("it was enough").waitFor();
  await move.getByText("user:demo").waitFor();
  await page.getByRole("button", { name: "Play it again" }).click();
  await page.getByRole("button", { name: "Show all" }).waitFor();
  await page.getByRole("button", { name: "Play it again" }).waitFor();
  await move.waitFor();
  await page.getByRole("button", { name: "Everything else" }).click();
  await page.getByRole("row", { name: /artifact deleted/ }).getByText(artifact.id).waitFor();
  await page.getByLabel("By").fill("user:nobody");
  await page.keyboard.press("Enter");
  await page.getByText("Nothing of this kind happened in that time.").waitFor();

  await page.goto(`${server}/ui/overview`);
  await page.getByRole("region", { name: "Sweeps" }).getByRole("row", { name: /^stalled/ }).getByText("never").waitFor();
  await page.getByRole("region", { name: "Transfers" }).getByText(/\d MiB in,/).waitFor();
  const { page: editor } = await person("Editor");
  await editor.goto(`${server}/ui/audit`);
  await editor.getByText("Not for your role").waitFor();
  for (const each of [page, editor]) content(each);
});

story("an Owner makes accounts, changes their roles and passwords, and lets them in no more", async () => {
  const page = await signedIn();
  const name = `tess-${Date.now().toString(36)}`;
  await page.goto(`${server}/ui/users`);
  await page.getByLabel("Name").fill(name);
  await page.getByLabel("Password", { exact: true }).first().fill(PASSWORD);
  await page.getByRole("button", { name: "Make the account" }).click();
  await page.getByText(`${name} may sign in now.`).waitFor();
  const theirs = await signedInAs(name, PASSWORD);
  await page.getByRole("button", { name: `Role of ${name}` }).click();
  await page.getByRole("dialog").getByLabel("Role").selectOption("Editor");
  await confirmed(page, "Give it");
  await page.getByRole("row", { name: new RegExp(name) }).getByText("Editor").waitFor();
  await theirs.goto(`${server}/ui/jobs`);
  await theirs.getByRole("button", { name: "New job" }).waitFor();
  await page.getByRole("button", { name: `Disable ${name}` }).click();
  await confirmed(page, "Disable the account");
  await page.getByRole("row", { name: new RegExp(name) }).getByText("disabled").waitFor();
  await theirs.goto(`${server}/ui/jobs`);
  await theirs.getByRole("heading", { name: "Sign in" }).waitFor();
  await theirs.goto(`${server}/ui/users`);
  await theirs.getByRole("heading", { name: "Sign in" }).waitFor();
  for (const each of [page, theirs]) content(each);
});

story("a password is changed, a key for S3 opens artifacts and is revoked, and signing out everywhere ends all browsers", async () => {
  const { name, page } = await person("Editor");
  const other = await signedInAs(name, PASSWORD);
  await page.goto(`${server}/ui/account`);
  await page.getByRole("region", { name: "Browsers" }).getByRole("row").nth(2).waitFor();
  const keys = page.getByRole("region", { name: "Access keys", exact: true });
  await keys.getByLabel("For").fill("a notebook");
  await keys.getByRole("button", { name: "Make a key" }).click();
  await keys.getByText("This is shown once").waitFor();
  const [id, secret] = await keys.getByRole("status").locator("code").allInnerTexts();
  assert.ok(id.startsWith("CF") && secret.length > 20);
  await keys.getByRole("row", { name: /a notebook/ }).getByRole("button", { name: "Revoke" }).click();
  await confirmed(page, "Revoke it");
  await keys.getByRole("row", { name: /a notebook/ }).getByText("revoked").waitFor();

  const fresh = "the ferry comes back at noon";
  await page.getByLabel("The present one").fill(PASSWORD);
  await page.getByLabel("The new one", { exact: true }).fill(fresh);
  await page.getByLabel("The new one again").fill(`${fresh}!`);
  await page.getByRole("button", { name: "Change it", exact: true }).click();
  await page.getByText("the two new passwords differ").waitFor();
  await page.getByLabel("The new one again").fill(fresh);
  await page.getByRole("button", { name: "Change it", exact: true }).click();
  await page.getByText("The password is changed").waitFor();
  await other.goto(`${server}/ui/jobs`);
  await other.getByRole("heading", { name: "Sign in" }).waitFor();

  const again = await signedInAs(name, fresh);
  await page.getByRole("button", { name: "Sign out everywhere" }).click();
  await confirmed(page, "Sign out everywhere");
  for (const each of [page, again]) {
    await each.goto(`${server}/ui/jobs`);
    await each.getByRole("heading", { name: "Sign in" }).waitFor();
  }
  for (const each of [page, other, again]) content(each);
});
