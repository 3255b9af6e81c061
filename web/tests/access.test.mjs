import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { after, test } from "node:test";
import { api, close, content, opened, server, signedIn } from "./browser.mjs";

after(close);

const axe = createRequire(import.meta.url).resolve("axe-core/axe.min.js");
const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];

async function violations(page) {
  // the policy forbids a script tag, and axe is not of the page
  await page.evaluate(await (await import("node:fs/promises")).readFile(axe, "utf8"));
  const found = await page.evaluate((values) => window.axe.run(document, { runOnly: { type: "tag", values } }), RULES);
  return found.violations.map((each) => `${each.id}: ${each.nodes.map((node) => node.html).join(" | ")}`);
}

async function check(page, place) {
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    await page.waitForFunction((theme) => document.documentElement.dataset.theme === theme, colorScheme);
    assert.deepEqual(await violations(page), [], `${place}, ${colorScheme}`);
  }
}

test("every page can be read and used by everybody, in both themes", async () => {
  const job = await api("POST", "jobs", { processor: "count-primes", parameters: { below: 10 } });
  const artifact = await api("POST", "artifacts", { type: "tabular", format: "csv", name: "trees" });
  await api("PUT", `artifacts/${artifact.id}/files/trees.csv`, "tree,age\nash,9\n", "text/csv");
  await api("POST", `artifacts/${artifact.id}/commit`, {});
  const stranger = await opened();
  await stranger.goto(server);
  await stranger.getByRole("heading", { name: "Sign in" }).waitFor();
  await check(stranger, "sign in");

  const page = await signedIn();
  for (const place of ["jobs", "jobs/new", `jobs/${job.id}`, "artifacts", "artifacts/new", `artifacts/${artifact.id}?file=trees.csv`, "workers", "workers/new", "workers/demo-worker", "overview", "settings", "account", "nowhere"]) {
    await page.goto(`${server}/ui/${place}`);
    await page.locator("main h1").first().waitFor();
    await page.waitForLoadState("networkidle");
    await check(page, place);
  }
  content(page);
});

test("a phone shows a page without scrolling it sideways", async () => {
  const page = await signedIn({ viewport: { width: 390, height: 800 } });
  for (const place of ["jobs", "artifacts", "artifacts/new", "workers", "workers/demo-worker", "overview", "settings", "account"]) {
    await page.goto(`${server}/ui/${place}`);
    await page.locator("main h1").first().waitFor();
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), place);
  }
  content(page);
});

test("the keyboard reaches the content and every place", async () => {
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
