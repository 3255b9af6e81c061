import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { api, close, content, server, signedIn } from "./browser.mjs";

after(close);

async function artifact(name, files = {}, more = {}) {
  const made = await api("POST", "artifacts", { type: "blob", name, ...more });
  for (const [path, bytes] of Object.entries(files)) await put(made.id, path, bytes);
  return made.id;
}

const put = (id, path, bytes) => api("PUT", `artifacts/${id}/files/${path}`, bytes, "application/octet-stream");
const commit = (id) => api("POST", `artifacts/${id}/commit`, {});

/** Tables as pyarrow writes them, each packed in a way of its own. */
function tables() {
  const folder = mkdtempSync(join(tmpdir(), "ferry-"));
  const code = `
import sys, datetime, decimal, pyarrow as pa, pyarrow.parquet as pq
table = pa.table({
    "tree": ["ash", None, "<b>oak</b>"] * 400,
    "age": pa.array(range(1200), pa.int64()),
    "height": [0.5, 1.25, float("nan")] * 400,
    "felled": [datetime.date(2030, 1, 2)] * 1200,
    "seen": pa.array([datetime.datetime(2030, 1, 2, 3, 4, 5)] * 1200, pa.timestamp("us")),
    "price": [decimal.Decimal("12.50")] * 1200,
    "rings": [[1, 2], [], None] * 400,
})
for packed in ("snappy", "zstd", "gzip", "brotli", "lz4", "none"):
    pq.write_table(table, f"{sys.argv[1]}/{packed}.parquet", compression=packed, row_group_size=500)
pq.write_table(table.slice(0, 0), f"{sys.argv[1]}/empty.parquet")
wide = pa.table({f"c{number}": [number] for number in range(70)})
pq.write_table(wide, f"{sys.argv[1]}/wide.parquet")
`;
  execFileSync(process.env.STORY_PYTHON, ["-c", code, folder]);
  const names = ["snappy", "zstd", "gzip", "brotli", "lz4", "none", "empty", "wide"];
  return Object.fromEntries(names.map((name) => [`${name}.parquet`, readFileSync(join(folder, `${name}.parquet`))]));
}

test("the first rows of Parquet are shown, however it is packed, and what is broken says so", async () => {
  const page = await signedIn();
  const files = tables();
  const broken = Buffer.concat([files["snappy.parquet"].subarray(0, 40), Buffer.alloc(600, 255), files["snappy.parquet"].subarray(640)]);
  const id = await artifact("packed", { ...files, "broken.parquet": broken, "none-at-all.parquet": Buffer.from("PAR1 and nothing else PAR1") });
  await page.goto(`${server}/ui/artifacts/${id}`);
  const preview = page.getByRole("region", { name: "Preview" });
  for (const name of ["snappy", "zstd", "gzip", "brotli", "lz4", "none"]) {
    await page.getByRole("button", { name: `Look at ${name}.parquet` }).click();
    await preview.getByRole("region", { name: `First rows of ${name}.parquet` }).waitFor();
    const cells = await preview.getByRole("row").nth(3).getByRole("cell").allInnerTexts();
    assert.deepEqual(cells, ["<b>oak</b>", "2", "NaN", "2030-01-02", "2030-01-02 03:04:05", "12.5", ""], name);
    await preview.getByText("The first 20 rows.").waitFor();
  }
  await preview.getByText("From what to what").click();
  await preview.getByRole("row", { name: /^age 0 1199 0/ }).waitFor();
  await page.getByRole("button", { name: "Look at empty.parquet" }).click();
  await preview.getByText("It has no rows.").waitFor();
  await page.getByRole("button", { name: "Look at wide.parquet" }).click();
  await preview.getByText("without 10 more columns").waitFor();
  for (const name of ["broken", "none-at-all"]) {
    await page.getByRole("button", { name: `Look at ${name}.parquet` }).click();
    await preview.getByText("Its rows cannot be shown here").waitFor();
  }
  content(page);
});

/** So many files at once, as no request could bring them in time. */
function declare(id, count) {
  const code = `
import os, sys
from pathlib import Path
from cableferry.core.artifacts import Description
from cableferry.store import artifacts, connect, files
store = connect.open_store(f"sqlite:///{Path(os.environ['STORY_FOLDER']) / 'data' / 'cableferry.db'}")
def fill(tx):
    key = artifacts.get(tx, sys.argv[1]).key
    for number in range(int(sys.argv[2])):
        files.put(tx, files.new(key, f"f{number}", Description(f"run/part-{number:05}.csv"), number + 9, tx.now))
store.write(fill)
store.close()
`;
  execFileSync(process.env.STORY_PYTHON, ["-c", code, id, String(count)], { stdio: "pipe" });
}

test("ten thousand files are a tree that folds, is walked by keys, and stays smooth", async () => {
  const page = await signedIn();
  const id = await artifact("many", { "about.txt": "here", "run/deep/last.txt": "found" });
  declare(id, 10_000);
  await page.goto(`${server}/ui/artifacts/${id}`);
  const tree = page.getByRole("treegrid", { name: "Files" });
  const folder = tree.getByRole("row", { name: /run.*10,001 files/ });
  await folder.focus();
  await page.keyboard.press("ArrowRight");
  await tree.getByText("part-00000.csv").waitFor();
  assert.equal(await folder.getAttribute("aria-expanded"), "true");
  assert.ok((await tree.getByRole("row").count()) < 60);

  // each key leads to the end of what is known, and what is behind it is asked for
  const last = tree.getByText("part-09999.csv");
  for (let pages = 0; pages < 60 && !(await last.isVisible()); pages += 1) {
    const known = Number(await tree.getAttribute("aria-rowcount"));
    await page.keyboard.press("End");
    await page.waitForFunction((count) => Number(document.querySelector('[role="treegrid"]').ariaRowCount) !== count || document.body.textContent.includes("part-09999.csv"), known);
  }
  await last.waitFor();
  assert.equal(Number(await tree.getAttribute("aria-rowcount")), 10_003);
  assert.ok((await tree.getByRole("row").count()) < 60);
  await page.keyboard.press("Home");
  await tree.getByText("part-00000.csv").waitFor();

  await page.getByLabel("Find").last().fill("LAST");
  await page.keyboard.press("Enter");
  await tree.getByText("run/deep/last.txt").waitFor();
  assert.equal(await tree.getByRole("row").count(), 1);
  await page.goto(`${server}/ui/artifacts/${id}?file=${encodeURIComponent("run/deep/last.txt")}`);
  await page.getByRole("region", { name: "Preview" }).getByText("found").waitFor();
  await tree.getByRole("row", { name: /last.txt/, selected: true }).waitFor();
  content(page);
});

test("where an artifact came from is drawn over several jobs, reached by keys, and told in words", async () => {
  const page = await signedIn();
  const worker = { worker_id: "story-maker" };
  await api("POST", "workers/register", { ...worker, capabilities: ["grow", "fell", "burn"].map((each) => ({ processor: `story-${each}` })) });
  const ids = [];
  for (const name of ["seeds", "trees", "wood", "ash"]) {
    ids.push(await artifact(name, { "x.txt": name }));
    await commit(ids.at(-1));
  }
  for (const [at, processor] of ["grow", "fell", "burn"].entries()) {
    const job = await api("POST", "jobs", { processor: `story-${processor}`, inputs: { taken: ids[at] } });
    await api("POST", `jobs/${job.id}/claim`, worker);
    for (const status of ["SUBMITTED", "STARTED"]) await api("POST", `jobs/${job.id}/transition`, { ...worker, status });
    await api("POST", `jobs/${job.id}/transition`, { ...worker, status: "COMPLETED", output_artifact_id: ids[at + 1] });
  }
  await page.goto(`${server}/ui/artifacts/${ids[2]}`);
  const drawing = page.getByRole("group", { name: "Drawing of where it came from" });
  const links = drawing.getByRole("link");
  await drawing.getByRole("link", { name: /^Artifact seeds/ }).waitFor();
  const order = await links.evaluateAll((each) => each.map((link) => link.getAttribute("aria-label").split(",")[0]));
  assert.deepEqual(order, ["Artifact seeds", "Job story-grow", "Artifact trees", "Job story-fell", "This artifact wood", "Job story-burn", "Artifact ash"]);
  assert.equal(await drawing.locator("path.edge").count(), 6);
  await page.getByRole("button", { name: "1 job away" }).click();
  await drawing.getByRole("link", { name: /^Artifact seeds/ }).waitFor({ state: "detached" });
  await page.getByText("The same in words").click();
  await page.getByRole("listitem").filter({ hasText: /story-fell.*took\s+trees\s+and made\s+wood/ }).waitFor();

  await drawing.focus();
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "trees" }).waitFor();
  content(page);
});
