// What every page has to be for people who read it otherwise: the rules, and the pages with something to show.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { api } from "./browser.mjs";
import { FILES } from "./corpus.mjs";

const axe = createRequire(import.meta.url).resolve("axe-core/axe.min.js");
const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];

export async function violations(page, runOnly) {
  // the policy forbids a script tag, and axe is not of the page
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(await readFile(axe, "utf8"));
  const found = await page.evaluate((options) => window.axe.run(document, { ...options, resultTypes: ["violations"] }), { runOnly });
  return found.violations.map((each) => `${each.id}: ${each.nodes.map((node) => node.html).join(" | ")}`);
}

export async function calm(page) {
  await page.locator("main h1, main h2").first().waitFor();
  await page.waitForFunction(() => !document.querySelector("main")?.textContent?.includes("Loading…"));
}

/** All rules in one theme; in the other one only those that colours can break. */
export async function check(page, place) {
  await calm(page);
  for (const [colorScheme, rules] of [["light", { type: "tag", values: TAGS }], ["dark", { type: "rule", values: ["color-contrast", "link-in-text-block"] }]]) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    await page.waitForFunction((theme) => document.documentElement.dataset.theme === theme, colorScheme);
    assert.deepEqual(await violations(page, rules), [], `${place}, ${colorScheme}`);
  }
}

async function made() {
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
export async function samples() {
  return (known ??= await made());
}

/** Every page, with and without something to show. */
export async function places() {
  const { job, failed, artifact, open } = await samples();
  const looks = ["trees.csv", "about.json", "note.txt", "doc.pdf", "image.svg"].map((file) => `artifacts/${artifact.id}?file=${file}`);
  const missing = "0193d2a0-0000-7000-8000-000000000000";
  return ["jobs", "jobs?processor=nobody-has-such", `jobs/${job.id}`, `jobs/${failed.id}`, `jobs/${missing}`, "jobs/new", `jobs/new?from=${job.id}`, "jobs/new?processor=count-primes", "artifacts", "artifacts?q=nobody-has-such", "artifacts/new", ...looks, `artifacts/${open.id}`, `artifacts/${missing}`, "workers", "workers/new", "workers/demo-worker", "workers/nobody", "waiting", "overview", "audit", "audit?kind=deeds", "users", "settings", "account", "welcome", "nowhere"];
}
