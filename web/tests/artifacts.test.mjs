import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { api, close, content, contentButAway, opened, owned, serve, server, signedIn, unowned } from "./browser.mjs";

after(close);

const MIB = 1024 * 1024;
const PIXEL = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==", "base64");
const EVIL = `<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><script>window.pwned = 1; parent.pwned = 1</script></svg>`;

test("pages and uploads go on after the server was killed, and an upload ends with the right hash", async () => {
  const { process, data, address } = await unowned();
  const origin = new URL(address).origin;
  const page = await opened({ server: origin });
  await owned(page, address);
  const bytes = randomBytes(40 * MIB);
  const file = join(mkdtempSync(join(tmpdir(), "ferry-")), "weights.bin");
  writeFileSync(file, bytes);
  const line = await page.context().newCDPSession(page);
  await line.send("Network.emulateNetworkConditions", { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: 16 * MIB });
  await page.getByRole("link", { name: "Workers" }).click();
  await page.getByText("Nothing can run").waitFor();
  await page.getByRole("link", { name: "Artifacts" }).click();
  await page.getByRole("button", { name: "New artifact" }).click();
  await page.getByLabel("files", { exact: true }).setInputFiles(file);
  await page.getByRole("button", { name: "Create and upload" }).click();
  const bar = page.getByRole("progressbar", { name: "All uploads" });
  await page.waitForFunction((least) => document.querySelector("main progress")?.value > least, 9 * MIB);
  process.kill("SIGKILL");
  await once(process, "exit");
  await page.getByText("goes on when it does").waitFor();
  assert.ok((await bar.evaluate((each) => each.value)) < bytes.length);
  await page.getByRole("link", { name: "Workers" }).click();
  await page.getByRole("heading", { name: "The server does not answer" }).waitFor();
  serve(data, new URL(origin).port);
  await page.getByText("Nothing can run").waitFor();
  await page.goBack();
  await page.getByText("there, with the right hash").waitFor();

  await page.getByRole("button", { name: "Commit" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Commit it" }).click();
  await page.getByText("COMMITTED", { exact: true }).waitFor();
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  await page.locator(`[role="gridcell"] code[title="${sha256}"]`).waitFor();
  const [saved] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "weights.bin" }).click()]);
  assert.equal(createHash("sha256").update(readFileSync(await saved.path())).digest("hex"), sha256);
  contentButAway(page);
});

test("files are looked at and never run, brought to other tools, and deleted", async () => {
  const page = await signedIn({ acceptDownloads: true });
  const artifact = await api("POST", "artifacts", { type: "blob", name: "mixed" });
  const files = { "a/t.csv": 'tree,age\n"ash, old",9\n', "j.json": '{"a":[1]}', "p.html": "<script>window.pwned = 1</script>", "s.svg": EVIL };
  for (const [path, text] of Object.entries(files)) await api("PUT", `artifacts/${artifact.id}/files/${path}`, text, "text/html");
  await page.goto(`${server}/ui/artifacts/${artifact.id}`);
  await page.getByLabel("files", { exact: true }).setInputFiles([
    { name: "i.png", mimeType: "image/png", buffer: PIXEL },
    { name: "empty.txt", mimeType: "text/plain", buffer: Buffer.alloc(0) },
    // where the last block of a hash is nearly full, full, or one of its own
    ...[55, 56, 64, 119].map((size) => ({ name: `b${size}`, mimeType: "", buffer: randomBytes(size) })),
    { name: "j.json", mimeType: "application/json", buffer: Buffer.from(files["j.json"]) },
  ]);
  await page.getByText("7 of 7 files").waitFor();
  const preview = page.getByRole("region", { name: "Preview" });
  const look = (path) => page.getByRole("button", { name: `Look at ${path}` }).click();
  await page.getByRole("button", { name: "Open the folder a" }).click();
  await look("a/t.csv");
  await preview.getByRole("cell", { name: "ash, old" }).waitFor();
  await look("j.json");
  await preview.getByText('"a": [').waitFor();
  await look("p.html");
  await preview.getByText("<script>window.pwned = 1</script>").waitFor();
  await look("empty.txt");
  await preview.getByText("The file is empty.").waitFor();
  for (const path of ["s.svg", "i.png"]) {
    await look(path);
    await page.waitForFunction((name) => document.querySelector(`main img[alt="${name}"]`)?.naturalWidth > 0, path);
  }
  const [saved] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "p.html" }).click()]);
  assert.equal(saved.suggestedFilename(), "p.html");
  assert.equal(await page.evaluate(() => window.pwned), undefined);

  await api("POST", `artifacts/${artifact.id}/commit`, {});
  const job = await api("POST", "jobs", { processor: "nobody-takes-this", inputs: { mixed: artifact.id } });
  await api("POST", `jobs/${job.id}/cancel`, {});
  await page.reload();
  await page.getByRole("region", { name: "Where it came from" }).getByRole("link", { name: /^Job nobody-takes-this/ }).waitFor();
  assert.deepEqual(await brought(page, artifact.id), Object.keys(files).length + 6);
  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete it" }).click();
  await page.getByText("The artifact is deleted.").waitFor();
  content(page);
});

/** The commands of the page, run as they stand; how many files the command line and Python each brought. */
async function brought(page, id) {
  const cwd = mkdtempSync(join(tmpdir(), "ferry-"));
  const env = { ...process.env, CABLEFERRY_TOKEN: process.env.STORY_TOKEN };
  const command = async (name) => {
    await page.getByRole("group", { name: "Tool" }).getByRole("button", { name }).click();
    return page.getByRole("region", { name: "Elsewhere" }).locator("code").innerText();
  };
  const python = `${process.env.STORY_PYTHON} -m cableferry.cli.main`;
  execFileSync("sh", ["-c", (await command("Command line")).replace(/^cableferry/, python)], { cwd, env });
  const count = () => Number(execFileSync("sh", ["-c", `find ${id} -type f ! -name '.*' | wc -l`], { cwd }));
  const first = count();
  execFileSync("mv", [id, "first"], { cwd });
  execFileSync(process.env.STORY_PYTHON, ["-c", await command("Python")], { cwd, env });
  assert.equal(count(), first);
  execFileSync("sh", ["-c", await command("curl")], { cwd, env, stdio: "ignore" });
  assert.equal(readFileSync(join(cwd, "t.csv"), "utf8"), 'tree,age\n"ash, old",9\n');
  return first;
}
