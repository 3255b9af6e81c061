import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { api, content, contentButAway, opened, server, signedIn, signIn, story } from "./browser.mjs";
import { FILES } from "./corpus.mjs";

const axe = createRequire(import.meta.url).resolve("axe-core/axe.min.js");
const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];

async function violations(page, runOnly) {
  // the policy forbids a script tag, and axe is not of the page
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(await readFile(axe, "utf8"));
  const found = await page.evaluate((options) => window.axe.run(document, { ...options, resultTypes: ["violations"] }), { runOnly });
  return found.violations.map((each) => `${each.id}: ${each.nodes.map((node) => node.html).join(" | ")}`);
}

async function calm(page) {
  await page.locator("main h1, main h2").first().waitFor();
  await page.waitForFunction(() => !document.querySelector("main")?.textContent?.includes("Loading…"));
}

/** All rules in one theme; in the other one only those that colours can break. */
async function check(page, place) {
  await calm(page);
  for (const [colorScheme, rules] of [["light", { type: "tag", values: TAGS }], ["dark", { type: "rule", values: ["color-contrast", "link-in-text-block"] }]]) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    await page.waitForFunction((theme) => document.documentElement.dataset.theme === theme, colorScheme);
    assert.deepEqual(await violations(page, rules), [], `${place}, ${colorScheme}`);
  }
}

async function samples() {
  await api("POST", "workers/register", { worker_id: "reads", capabilities: [{ processor: "is-read" }] });
  const job = await api("POST", "jobs", { processor: "is-read", parameters: { below: 10 } });
  await api("POST", `jobs/${job.id}/claim`, { worker_id: "reads" });
  await api("POST", `jobs/${job.id}/transition`, { worker_id: "reads", status: "SUBMITTED", slurm_job_id: "17" });
  await api("POST", `jobs/${job.id}/transition`, { worker_id: "reads", status: "STARTED", phase: "reads", message: "a page", progress: 0.4 });
  await api("POST", `jobs/${job.id}/logs/stdout`, { worker_id: "reads", offset: 0, content: btoa("\u001b[31mred\u001b[0m \u001b[32mgreen\u001b[0m\n") });
  const failed = await api("POST", "jobs", { processor: "was-read" });
  await api("POST", `jobs/${failed.id}/cancel`, { detail: "enough" });
  const artifact = await api("POST", "artifacts", { type: "tabular", format: "csv", name: "trees" });
  for (const [name, text] of [["trees.csv", "tree,age\nash,9\n"], ["about.json", '{"a": 1}'], ["note.txt", "a note"], ["doc.pdf", FILES["doc.pdf"]], ["image.svg", '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>']])
    await api("PUT", `artifacts/${artifact.id}/files/${name}`, text, "text/plain");
  const open = await api("POST", "artifacts", { type: "blob", name: "open" });
  return { job, failed, artifact, open };
}

let known;
async function places() {
  known ??= await samples();
  const { job, failed, artifact, open } = known;
  const looks = ["trees.csv", "about.json", "note.txt", "doc.pdf", "image.svg"].map((file) => `artifacts/${artifact.id}?file=${file}`);
  const missing = "0193d2a0-0000-7000-8000-000000000000";
  return ["jobs", "jobs?processor=nobody-has-such", `jobs/${job.id}`, `jobs/${failed.id}`, `jobs/${missing}`, "jobs/new", `jobs/new?from=${job.id}`, "artifacts", "artifacts?q=nobody-has-such", "artifacts/new", ...looks, `artifacts/${open.id}`, `artifacts/${missing}`, "workers", "workers/new", "workers/demo-worker", "workers/nobody", "overview", "settings", "account", "welcome", "nowhere"];
}

story("every page can be read and used by everybody, in both themes, whatever it has to show", async () => {
  const stranger = await opened();
  await stranger.goto(server);
  await check(stranger, "sign in");
  await signIn(stranger, "demo", "a wrong guess");
  await stranger.getByRole("alert").waitFor();
  await check(stranger, "sign in, refused");

  const page = await signedIn();
  for (const place of await places()) {
    await page.goto(`${server}/ui/${place}`);
    await check(page, place);
  }
  await page.context().setOffline(true);
  await page.getByRole("link", { name: "Workers" }).click();
  await page.getByText("What you see is as it was").waitFor();
  await check(page, "away");
  await page.context().setOffline(false);
  contentButAway(page);
}, 170);

story("questions, secrets and messages can be read and used by everybody too", async () => {
  const { job, artifact } = known ?? (await samples());
  const page = await signedIn();
  for (const [place, button] of [[`jobs/${job.id}`, "Cancel job"], [`artifacts/${artifact.id}`, "Commit"], [`artifacts/${artifact.id}`, "Delete"], ["account", "Sign out everywhere"], ["workers/reads", "Remove"]]) {
    await page.goto(`${server}/ui/${place}`);
    await page.getByRole("button", { name: button, exact: true }).click();
    await page.getByRole("dialog").waitFor();
    await check(page, `${place}: ${button}`);
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "hidden" });
    assert.equal(await page.evaluate(() => document.activeElement.textContent.trim()), button);
  }
  await page.goto(`${server}/ui/jobs`);
  await page.getByLabel("Choose all of this page").check();
  await page.getByRole("button", { name: /^Delete \d/ }).click();
  await page.getByRole("dialog").waitFor();
  await check(page, "jobs: delete many");
  await page.goto(`${server}/ui/account`);
  await page.getByLabel("For").fill(`reads ${Date.now()}`);
  await page.getByRole("button", { name: "Make a token" }).click();
  await page.getByText("The token is made").waitFor();
  await check(page, "a token");
  await page.goto(`${server}/ui/workers/new`);
  await page.getByLabel("Name").fill("reads-2");
  await page.getByRole("button", { name: "Issue its secret" }).click();
  await page.getByText("shown once").waitFor();
  await check(page, "a secret");
  content(page);
});

story("a phone shows every page without scrolling it sideways, and its buttons can be hit", async () => {
  const page = await signedIn({ viewport: { width: 390, height: 800 }, hasTouch: true });
  for (const place of await places()) {
    await page.goto(`${server}/ui/${place}`);
    await calm(page);
    const wide = await page.evaluate(() => [...document.querySelectorAll("body *")].filter((each) => document.documentElement.scrollWidth > innerWidth && each.getBoundingClientRect().right > innerWidth + 1 && !each.closest(".scroll, .view")).map((each) => each.outerHTML.slice(0, 120)).slice(-3));
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${place}: ${wide.join(" | ")}`);
    assert.deepEqual(await violations(page, { type: "rule", values: ["target-size", "scrollable-region-focusable", "reflow", "label", "button-name", "link-name"].filter((name) => name !== "reflow") }), [], place);
  }
  content(page);
});

story("a job is submitted and called off without a mouse", async () => {
  const page = await signedIn();
  const focus = () => page.evaluate(() => document.activeElement.textContent.trim() || document.activeElement.getAttribute("aria-label") || document.activeElement.tagName);
  /** Tab until one is there, as people do. */
  const reach = async (name) => {
    for (let count = 0; count < 60; count += 1) {
      await page.keyboard.press("Tab");
      if ((await focus()) === name) return;
    }
    assert.fail(`Tab does not lead to ${name}`);
  };
  await page.goto(`${server}/ui/workers`);
  await calm(page);
  await reach("Jobs");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Jobs" }).waitFor();
  assert.equal(await page.title(), "Jobs · Cableferry");
  await page.getByRole("status").getByText("Jobs", { exact: true }).waitFor({ state: "attached" });
  await reach("New job");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "New job" }).waitFor();
  assert.equal(await page.title(), "New job · Cableferry");
  await page.waitForFunction(() => document.activeElement.matches("main, main *"));
  await page.waitForFunction(() => document.activeElement.matches("input"));
  await page.keyboard.type("nobody-types-this");
  await page.getByRole("status").getByText(/nobody-types-this|No worker/).first().waitFor();
  await reach("Submit");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "nobody-types-this" }).waitFor();
  assert.equal(await page.title(), "Job · Cableferry");
  await reach("Cancel job");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").waitFor();
  assert.equal(await focus(), "Back");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").waitFor({ state: "hidden" });
  assert.equal(await focus(), "Cancel job");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").waitFor();
  // nothing behind a question can be reached
  await reach("Cancel the job");
  await page.keyboard.press("Enter");
  await page.getByText("CANCELLED", { exact: true }).first().waitFor();
  await page.getByRole("status").getByText("The job is called off.").waitFor();
  content(page);
});

story("nothing moves for whoever asked for that", async () => {
  const page = await signedIn({ reducedMotion: "reduce" });
  for (const place of ["jobs", "workers", "overview"]) {
    await page.goto(`${server}/ui/${place}`);
    await calm(page);
    const moving = () => [...document.querySelectorAll("*")].filter((each) => [getComputedStyle(each).animationName !== "none", parseFloat(getComputedStyle(each).transitionDuration) > 0].some(Boolean)).map((each) => each.className);
    assert.deepEqual(await page.evaluate(moving), [], place);
  }
  content(page);
});

story("the keyboard reaches the content and every place", async () => {
  const page = await signedIn();
  await page.goto(`${server}/ui/jobs`);
  await page.locator("main h1").first().waitFor();
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Skip to the content");
  const reached = [];
  for (let count = 0; count < 5; count += 1) {
    await page.keyboard.press("Tab");
    reached.push(await page.evaluate(() => document.activeElement.textContent.trim()));
  }
  assert.deepEqual(reached.slice(0, 4), ["Cableferry", "Jobs", "Artifacts", "Workers"]);
  content(page);
});
