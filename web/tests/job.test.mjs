import assert from "node:assert/strict";
import { after, test } from "node:test";
import { check } from "./reading.mjs";
import { api, close, content, server, signedIn } from "./browser.mjs";

after(close);

const WORKER = { worker_id: "page-worker" };
const mark = crypto.randomUUID().slice(0, 8);
let page;

async function opened(place) {
  page ??= await signedIn();
  await page.goto(`${server}/ui/${place}`);
  return page;
}

const report = (job, status, more = {}) => api("POST", `jobs/${job.id}/transition`, { ...WORKER, status, ...more });

async function running(more = {}) {
  const processor = `shown-${mark}`;
  await api("POST", "workers/register", { ...WORKER, capabilities: [{ processor }] });
  const job = await api("POST", "jobs", { processor, ...more });
  await api("POST", `jobs/${job.id}/claim`, WORKER);
  await report(job, "SUBMITTED", { slurm_job_id: "4711", requested: { cpus: 8, memory_bytes: 2 ** 34, wall_seconds: 7200, partition: "gpu" } });
  await report(job, "STARTED");
  return job;
}

async function committed(name, text) {
  const artifact = await api("POST", "artifacts", { type: "tabular", name });
  await api("PUT", `artifacts/${artifact.id}/files/${name}.csv`, text, "text/csv");
  await api("POST", `artifacts/${artifact.id}/commit`, {});
  return artifact.id;
}

test("a real job is followed from its submission to its end, with its output", async () => {
  await opened("jobs");
  const job = await api("POST", "jobs", { processor: "count-primes", parameters: { below: 5000 } });
  await opened(`jobs/${job.id}`);

  await page.getByText("STARTED").first().waitFor();
  await page.getByRole("progressbar").waitFor();
  await page.getByText(/^about .* left$/).waitFor();
  await page.getByText("COMPLETED").first().waitFor();
  await page.getByRole("region", { name: "Phases", exact: true }).getByText("count", { exact: true }).waitFor();
  assert.deepEqual(await page.getByRole("list", { name: "Time in each state" }).locator(".name").allInnerTexts(), ["pending", "claimed", "submitted", "started"]);
  content(page);
});

test("what a job took stands beside what it was given, and its results can be looked at", async () => {
  const trees = await committed("trees-in", "tree,age\nash,9\n");
  const result = await committed("trees-out", "tree,height\noak,12\n");
  const job = await running({ inputs: { trees } });
  for (const [phase, progress] of [["load", 0.1], ["load", 0.2], ["train", 0.3], ["train", 0.6]]) await report(job, "STARTED", { phase, progress, message: `at ${progress}` });
  await opened(`jobs/${job.id}`);
  const facts = page.getByRole("region", { name: "Facts" });
  await facts.getByText("4711").waitFor();
  await page.getByRole("region", { name: "Resources" }).getByText(/of 2 h 0 min/).waitFor();
  const phases = page.getByRole("region", { name: "Phases", exact: true }).locator("tbody tr");
  assert.equal(await phases.count(), 2);
  assert.match(await phases.nth(1).innerText(), /train[^]*30 % → 60 %[^]*at 0.6/);
  await page.getByRole("button", { name: "Cancel job" }).click();
  await page.getByRole("dialog").getByText("ends job 4711 on the cluster").waitFor();
  await page.getByRole("dialog").getByText("at 60 %").waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Back" }).click();

  const usage = { elapsed_seconds: 3600, cpu_seconds: 3600 * 6, max_rss_bytes: 2 ** 34 - 2 ** 29, exit_code: 0, nodes: "node7" };
  await report(job, "COMPLETED", { output_artifact_id: result, usage });
  const resources = page.getByRole("region", { name: "Resources" });
  await resources.getByText("1 h 0 min of 2 h 0 min").waitFor();
  await resources.getByText("75 % of 8 cores").waitFor();
  await resources.getByText("close to its limit: ask for more").waitFor();
  const results = page.getByRole("region", { name: "Results" });
  await results.getByRole("button", { name: "Look at trees-out.csv" }).click();
  await results.getByRole("cell", { name: "oak" }).waitFor();
  const inputs = page.getByRole("region", { name: "Inputs", exact: true });
  await inputs.getByRole("button", { name: "Look at trees-in.csv" }).click();
  await inputs.getByRole("cell", { name: "ash" }).waitFor();
  await check(page, "a job with all there is to see");
  content(page);
});

test("what happens to a job is seen within a second", async () => {
  const job = await running();
  await opened(`jobs/${job.id}`);
  const why = page.getByRole("region", { name: "Where it is" });
  await why.getByText("It has been running").waitFor();
  await page.evaluate(() => {
    window.seen = {};
    const look = () => {
      const step = /step (\d+)\b/.exec(document.querySelector(".why").textContent)?.[1];
      if (step) window.seen[step] ??= Date.now();
    };
    new MutationObserver(look).observe(document.querySelector("main"), { subtree: true, childList: true, characterData: true });
  });
  const COUNT = 40;
  const sent = [];
  for (let step = 0; step < COUNT; step += 1) {
    sent.push(Date.now());
    await report(job, "STARTED", { message: `step ${step}`, progress: step / COUNT });
    await page.waitForTimeout(60);
  }
  await why.getByText(`step ${COUNT - 1},`).first().waitFor();
  const seen = await page.evaluate(() => window.seen);
  // one that was overtaken by the next was seen with it
  const shown = (step) => (step >= COUNT ? undefined : (seen[step] ?? shown(step + 1)));
  const took = sent.map((at, step) => shown(step) - at).sort((a, b) => a - b);
  const median = took[COUNT / 2];
  console.log(`figures: ${COUNT} updates of a job, each from its report to the page: median ${median} ms, longest ${took.at(-1)} ms`);
  assert.ok(median < 1000);
  content(page);
});
