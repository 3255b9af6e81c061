// Takes a picture of every page in both themes, of a server with sample data; tools/shots.py runs it.
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { api, close, opened, server, signedIn } from "./tests/browser.mjs";

const FOLDER = process.env.SHOTS_FOLDER;
const VIEWPORT = { width: 1100, height: 760 };
const TABLE = ["tree,age,height", ...Array.from({ length: 40 }, (_, at) => `${["ash", "oak", "elm", "yew"][at % 4]},${7 + at * 3},${(4 + at / 3).toFixed(1)}`)].join("\n");

const SCHEMA = {
  type: "object",
  properties: {
    model: { enum: ["forest-2", "forest-3"], title: "Model", description: "Which of the trained models embeds the trees." },
    batch: { type: "integer", title: "Batch", minimum: 1, maximum: 512, default: 64, description: "How many are embedded at once." },
    rate: { type: "number", title: "Learning rate", exclusiveMinimum: 0, maximum: 1 },
    keepsAll: { type: "boolean", title: "Keep every layer" },
  },
  required: ["model"],
};

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
    { processor: "embed", profile: "gpu-large", max_concurrent_jobs: 4, parameters_schema: SCHEMA },
    { processor: "cluster-trees", profile: "cpu", max_concurrent_jobs: 16 },
    { processor: "draw", profile: "cpu" },
  ];
  const session = { id: "boot-0001", host: "login1.example.org", pid: 4242, started_at: new Date(Date.now() - 3_600_000).toISOString() };
  await api("POST", "workers/register", { worker_id: "gpu-cluster", hostname: "login1.example.org", capabilities, session });
  await api("POST", "workers/gpu-cluster/credentials/issue", { label: "the large cluster" });
  const embed = { processor: "embed", profile: "gpu-large", inputs: { trees }, parameters: { model: "forest-3", batch: 64 }, submit_user: "ada" };
  const submitted = ["SUBMITTED", { slurm_job_id: "118204" }];
  const requested = { cpus: 8, memory_bytes: 2 ** 36, wall_seconds: 14400, gpus: "a100:1", partition: "gpu" };
  const usage = { elapsed_seconds: 6420, cpu_seconds: 38100, max_rss_bytes: 21 * 2 ** 30, exit_code: 0, nodes: "node7" };
  const phases = [["load", 0.05, "40 trees"], ["train", 0.3, "epoch 2 of 8"], ["train", 0.8, "epoch 7 of 8"], ["evaluate", 0.95, "on the held-out trees"]];
  const reports = phases.map(([phase, progress, message]) => ["STARTED", { phase, progress, message }]);
  const ended = await job(embed, ["SUBMITTED", { slurm_job_id: "118201", requested }], ...reports, ["COMPLETED", { output_artifact_id: result, usage, detail: "exit_code=0" }]);
  await job(embed, submitted, ["STARTED"], ["FAILED", { detail: "exit_code=1: no such model" }]);
  const running = await job(embed, submitted, ["STARTED", { phase: "train", message: "epoch 3 of 8", progress: 0.4 }]);
  const lines = Array.from({ length: 12 }, (_, at) => `epoch ${Math.floor(at / 4) + 1} step ${at * 50} loss ${(1 / (at + 1)).toFixed(4)}\n`).join("");
  await api("POST", `jobs/${running}/logs/stdout`, { worker_id: "gpu-cluster", epoch: 1, offset: 0, content: btoa(lines) });
  await job({ processor: "cluster-trees", profile: "cpu", submit_user: "grace" }, ["SUBMITTED", { slurm_job_id: "118207" }]);
  for (let at = 0; at < 3; at += 1) await job({ ...embed, priority: at });
  await api("POST", "jobs", { processor: "count-primes", parameters: { below: 5000 } });
  const open = await api("POST", "artifacts", { type: "model", name: "weights" });
  await api("PUT", `artifacts/${open.id}/files/config.json`, '{"layers": 12}', "text/plain");
  const plots = await artifact("forest-report", { "report.txt": "40 trees in 4 groups", "figures/ages.svg": "<svg/>", "figures/heights.svg": "<svg/>", "tables/by-age/young.csv": TABLE }, "report");
  await job({ processor: "draw", profile: "cpu", inputs: { embeddings: result, trees }, submit_user: "grace" }, ["SUBMITTED"], ["STARTED"], ["COMPLETED", { output_artifact_id: plots }]);
  return { result, ended, running, plots, open: open.id };
}

const known = await samples();
const PAGES = {
  jobs: "jobs",
  "new-job": "jobs/new?processor=embed",
  job: `jobs/${known.running}`,
  "ended-job": `jobs/${known.ended}`,
  artifacts: "artifacts",
  artifact: `artifacts/${known.result}?file=vectors.csv`,
  "artifact-tree": `artifacts/${known.plots}?file=${encodeURIComponent("tables/by-age/young.csv")}`,
  "open-artifact": `artifacts/${known.open}`,
  "new-artifact": "artifacts/new",
  workers: "workers",
  worker: "workers/gpu-cluster",
  "new-worker": "workers/new",
  waiting: "waiting",
  overview: "overview",
  audit: "audit",
  users: "users",
  settings: "settings",
  account: "account",
};

async function shoot(page, name) {
  await page.locator("main h1").first().waitFor();
  await page.waitForTimeout(600);
  await page.screenshot({ path: join(FOLDER, `${name}.png`), fullPage: ["artifact", "artifact-tree", "overview", "account", "worker", "job", "ended-job", "new-job"].includes(name.replace(/-(light|dark|phone)$/, "")) });
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
const phone = await signedIn({ viewport: { width: 390, height: 800 } });
for (const [name, place] of Object.entries(PAGES)) {
  await phone.goto(`${server}/ui/${place}`);
  await shoot(phone, `${name}-phone`);
}
await close();
