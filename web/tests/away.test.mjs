import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { asked, contentButAway, opened, owned, serve, story, unowned } from "./browser.mjs";

const WORKER = { worker_id: "scribe" };
/** Done at the database itself, as an operator may while the server is stopped. */
const SIGN_OUT = `
import sys
from cableferry.cli import place
from cableferry.engine import sessions
with place.opened(place.settings(None, {"database.data_dir": sys.argv[1]})) as store:
    assert store.write(lambda tx: sessions.end_all(tx, "olga")) == 1
`;
const PASSWORD = "the ferry leaves at dawn";

/** A server of its own with its owner's page, and requests with a token that the page made. */
async function staged() {
  const own = await unowned();
  const page = await opened({ server: own.origin });
  await owned(page, own.address);
  const token = await page.evaluate(async () => {
    const me = await (await fetch("/api/ui/me")).json();
    const headers = { "X-CSRF-Token": me.csrf_token, "Content-Type": "application/json" };
    return (await (await fetch("/api/ui/tokens", { method: "POST", headers, body: JSON.stringify({ label: "story" }) })).json()).token;
  });
  const ask = async (method, path, body) => {
    const answer = await asked(method, `${own.origin}/api/${path}`, body, { Authorization: `Bearer ${token}` });
    const text = await answer.text();
    assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${text}`);
    return text === "" ? null : JSON.parse(text);
  };
  const process = { now: own.process };
  const kill = async () => {
    process.now.kill("SIGKILL");
    await once(process.now, "exit");
  };
  const back = async () => {
    process.now = serve(own.data, new URL(own.origin).port);
    for (const end = Date.now() + 20_000; Date.now() < end; ) if (await fetch(`${own.origin}/api/hpc/health`, { signal: AbortSignal.timeout(5000) }).catch(() => null)) return;
    assert.fail("the server did not come back");
  };
  return { page, ask, kill, back, data: own.data, origin: own.origin };
}

const AWAY = "The server does not answer. What you see is as it was";

story("a page whose server is away says so and keeps what it shows, and misses nothing once it is back", async () => {
  const { page, ask, kill, back, origin } = await staged();
  const write = async (job, offset, text) => {
    await ask("POST", `hpc/jobs/${job.id}/logs/stdout`, { ...WORKER, offset, content: btoa(text) });
    return offset + text.length;
  };
  await ask("POST", "hpc/workers/register", { ...WORKER, capabilities: [{ processor: "writes" }] });
  const job = await ask("POST", "hpc/jobs", { processor: "writes" });
  await ask("POST", `hpc/jobs/${job.id}/claim`, WORKER);
  for (const status of ["SUBMITTED", "STARTED"]) await ask("POST", `hpc/jobs/${job.id}/transition`, { ...WORKER, status });
  let end = await write(job, 0, "line 1\nline 2\n");
  await page.goto(`${origin}/ui/jobs/${job.id}`);
  const log = page.getByRole("group", { name: /^stdout/ });
  await log.getByText("line 2").waitFor();
  const list = await page.context().newPage();
  await list.goto(`${origin}/ui/jobs`);
  await list.getByRole("row", { name: /writes/ }).getByText("STARTED").waitFor();

  await kill();
  for (const each of [page, list]) await each.getByText(AWAY).waitFor();
  assert.equal(await log.getByText("line 2").count(), 1);
  await list.getByRole("row", { name: /writes/ }).getByText("STARTED").waitFor();
  await back();
  end = await write(job, end, "line 3\nline 4\n");
  await ask("POST", `hpc/jobs/${job.id}/transition`, { ...WORKER, status: "STARTED", message: "meanwhile", progress: 0.5 });
  await ask("POST", "hpc/jobs", { processor: "came-meanwhile" });

  await log.getByText("line 4").waitFor();
  await page.getByRole("region", { name: "History" }).getByText("meanwhile").waitFor();
  await list.getByRole("link", { name: "came-meanwhile" }).waitFor();
  for (const each of [page, list]) await each.getByText(AWAY).waitFor({ state: "detached" });
  await write(job, end, "line 5\n");
  await log.getByText("line 5").waitFor();
  assert.deepEqual((await log.locator(".line").allInnerTexts()).map((each) => each.trim()), [1, 2, 3, 4, 5].map((each) => `line ${each}`));
  contentButAway(page);
});

story("a session that ended while the server was away leads to signing in, and then back to the same page", async () => {
  const { page, ask, kill, back, data, origin } = await staged();
  const job = await ask("POST", "hpc/jobs", { processor: "is-looked-at" });
  const place = `${origin}/ui/jobs/${job.id}`;
  await page.goto(place);
  await page.getByRole("heading", { name: "is-looked-at" }).waitFor();

  await kill();
  await page.getByText(AWAY).waitFor();
  execFileSync(process.env.STORY_PYTHON, ["-c", SIGN_OUT, data], { timeout: 20_000 });
  await back();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  assert.equal(page.url(), place);
  await page.getByLabel("Name").fill("olga");
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "is-looked-at" }).waitFor();
  assert.equal(page.url(), place);
  contentButAway(page);
});
