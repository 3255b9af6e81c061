// Takes a picture of every page in both themes, of a server with sample data; tools/shots.py runs it.
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { api, close, opened, server, signedIn } from "./tests/browser.mjs";

const FOLDER = process.env.SHOTS_FOLDER;
const VIEWPORT = { width: 1100, height: 760 };
const TABLE = ["tree,age,height", ...Array.from({ length: 40 }, (_, at) => `${["ash", "oak", "elm", "yew"][at % 4]},${7 + at * 3},${(4 + at / 3).toFixed(1)}`)].join("\n");

async function artifact(name, files, type = "tabular") {
  const made = await api("POST", "artifacts", { type, name, format: type === "tabular" ? "csv" : null });
  for (const [path, text] of Object.entries(files)) await api("PUT", `artifacts/${made.id}/files/${path}`, text, "text/plain");
  await api("POST", `artifacts/${made.id}/commit`, {});
  return made.id;
}

async function report(job, status, more = {}) {
  await api("POST", `jobs/${job}/transition`, { status, worker_id: "gpu-cluster", ...more });
}

async function job(body, ...moves) {
  const made = await api("POST", "jobs", body);
  if (moves.length) await api("POST", `jobs/${made.id}/claim`, { worker_id: "gpu-cluster" });
  for (const [status, more] of moves) await report(made.id, status, more);
  return made.id;
}

async function samples() {
  const trees = await artifact("trees-2030", { "trees.csv": TABLE });
  const result = await artifact("embeddings", { "vectors.csv": TABLE, "about.json": '{"model": "forest-3", "rows": 40}' });
  const capabilities = [
    { processor: "embed", profile: "gpu-large", max_concurrent_jobs: 4 },
    { processor: "cluster-trees", profile: "cpu", max_concurrent_jobs: 16 },
  ];
  const session = { id: "boot-0001", host: "login1.example.org", pid: 4242, started_at: new Date(Date.now() - 3_600_000).toISOString() };
  await api("POST", "workers/register", { worker_id: "gpu-cluster", hostname: "login1.example.org", capabilities, session });
  await api("POST", "workers/gpu-cluster/credentials/issue", { label: "the large cluster" });
  const embed = { processor: "embed", profile: "gpu-large", inputs: { trees }, parameters: { model: "forest-3", batch: 64 }, submit_user: "ada" };
  const submitted = ["SUBMITTED", { slurm_job_id: "118204" }];
  await job(embed, submitted, ["STARTED"], ["COMPLETED", { output_artifact_id: result }]);
  await job(embed, submitted, ["STARTED"], ["FAILED", { detail: "exit_code=1: no such model" }]);
  const running = await job(embed, submitted, ["STARTED", { phase: "train", message: "epoch 3 of 8", progress: 0.4 }]);
  const lines = Array.from({ length: 12 }, (_, at) => `epoch ${Math.floor(at / 4) + 1} step ${at * 50} loss ${(1 / (at + 1)).toFixed(4)}\n`).join("");
  await api("POST", `jobs/${running}/logs/stdout`, { worker_id: "gpu-cluster", epoch: 1, offset: 0, content: btoa(lines) });
  await job({ processor: "cluster-trees", profile: "cpu", submit_user: "grace" }, ["SUBMITTED", { slurm_job_id: "118207" }]);
  for (let at = 0; at < 3; at += 1) await job({ ...embed, priority: at });
  await api("POST", "jobs", { processor: "count-primes", parameters: { below: 5000 } });
  const open = await api("POST", "artifacts", { type: "model", name: "weights" });
  await api("PUT", `artifacts/${open.id}/files/config.json`, '{"layers": 12}', "text/plain");
  return { result, running, open: open.id };
}

const known = await samples();
const PAGES = {
  jobs: "jobs",
  "new-job": "jobs/new",
  job: `jobs/${known.running}`,
  artifacts: "artifacts",
  artifact: `artifacts/${known.result}?file=vectors.csv`,
  "open-artifact": `artifacts/${known.open}`,
  "new-artifact": "artifacts/new",
  workers: "workers",
  worker: "workers/gpu-cluster",
  "new-worker": "workers/new",
  overview: "overview",
  settings: "settings",
  account: "account",
};

async function shoot(page, name) {
  await page.locator("main h1").first().waitFor();
  await page.waitForTimeout(600);
  await page.screenshot({ path: join(FOLDER, `${name}.png`), fullPage: ["artifact", "worker", "job"].includes(name.replace(/-(light|dark|phone)$/, "")) });
}

await mkdir(FOLDER, { recursive: true });
for (const colorScheme of ["light", "dark"]) {
  const stranger = await opened({ colorScheme, viewport: VIEWPORT });
  await stranger.goto(server);
  await shoot(stranger, `sign-in-${colorScheme}`);
  const page = await signedIn({ colorScheme, viewport: VIEWPORT });
  for (const [name, place] of Object.entries(PAGES)) {
    await page.goto(`${server}/ui/${place}`);
    await shoot(page, `${name}-${colorScheme}`);
  }
}
if (process.env.SHOTS_PHONE) {
  const page = await signedIn({ viewport: { width: 390, height: 800 } });
  for (const [name, place] of Object.entries(PAGES)) {
    await page.goto(`${server}/ui/${place}`);
    await shoot(page, `${name}-phone`);
  }
}
await close();
