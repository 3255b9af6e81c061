import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { content, ferry, folder, opened, owned, story, unowned } from "./browser.mjs";

const PROGRAM = `
import json, os, pathlib, time
text = json.loads(os.environ["HPC_PARAMETERS"])["text"]
go = pathlib.Path(__file__).with_name("go")
print("counting the words of", repr(text), flush=True)
while not go.exists():
    time.sleep(0.02)
print("counted them", flush=True)
output = pathlib.Path(os.environ["HPC_OUTPUT_DIR"])
(output / "words.json").write_text(json.dumps({"words": len(text.split())}))
`;

/** The page's own commands, done as they stand, with a program of one's own where it says to put one. */
async function followed(page, cwd) {
  const region = page.getByRole("region", { name: "The new secret" });
  const secret = await region.getByRole("status").locator("code").first().innerText();
  await region.getByRole("button", { name: "One machine" }).click();
  await region.getByText("worker.toml", { exact: true }).waitFor();
  const [, keep, config, run] = await region.locator("li code").allInnerTexts();
  execFileSync("bash", ["-c", keep], { cwd, input: `${secret}\n` });
  const program = join(cwd, "count.py");
  writeFileSync(program, PROGRAM);
  writeFileSync(join(cwd, "worker.toml"), config.replaceAll("/opt/count/count.py", program), { mode: 0o600 });
  assert.match(config, /"\/opt\/count\/count.py"/);
  const words = run.split(/\s+/);
  assert.equal(words[0], "cableferry");
  ferry(words.slice(1), { cwd, env: { ...process.env, HOME: cwd } });
}

story("a newcomer owns a server, adds a worker, runs a job, reads its log as it is written and opens what came of it", async () => {
  const { address, origin } = await unowned();
  const page = await opened({ server: origin, acceptDownloads: true });
  await owned(page, address);
  await page.getByText("There are no jobs yet").waitFor();

  await page.getByRole("link", { name: "Workers" }).click();
  await page.getByText("Nothing can run").waitFor();
  await page.getByRole("button", { name: "Add a worker" }).click();
  await page.getByLabel("Name").fill("laptop");
  await page.getByRole("button", { name: "Issue its secret" }).click();
  const cwd = await folder();
  await followed(page, cwd);
  await page.getByRole("link", { name: "Workers" }).click();
  await page.getByRole("row", { name: /laptop/ }).getByText("alive").waitFor();

  await page.getByRole("link", { name: /olga/ }).click();
  await page.getByRole("region", { name: "Tokens", exact: true }).getByLabel("For").fill("my scripts");
  await page.getByRole("button", { name: "Make a token" }).click();
  const token = await page.getByRole("status").filter({ hasText: "shown once" }).locator("code").innerText();
  const cli = (...words) =>
    execFileSync(process.env.STORY_PYTHON, ["-m", "cableferry.cli.main", ...words, "--server", origin], { cwd, env: { ...process.env, CABLEFERRY_TOKEN: token }, timeout: 20_000 });

  await page.getByRole("link", { name: "Jobs" }).click();
  await page.getByRole("button", { name: "New job" }).click();
  await page.getByRole("heading", { name: "New job" }).waitFor();
  await page.getByLabel("Processor").fill("count-words");
  await page.getByText("It waits for laptop to ask for work.").waitFor();
  await page.getByRole("textbox", { name: "Parameters" }).fill('{"text": "the ferry leaves at dawn"}');
  await page.getByRole("button", { name: "Submit" }).click();
  const log = page.getByRole("group", { name: /^stdout/ });
  await log.getByText("counting the words of 'the ferry leaves at dawn'").waitFor();
  await page.getByText("STARTED", { exact: true }).first().waitFor();
  const id = page.url().split("/").pop();
  writeFileSync(join(cwd, "go"), "");
  await log.getByText("counted them").waitFor();
  await page.getByText("COMPLETED", { exact: true }).first().waitFor();
  assert.equal(JSON.parse(cli("jobs", "show", id, "--json")).status, "COMPLETED");

  await page.getByRole("link", { name: /^output/ }).first().click();
  await page.getByRole("button", { name: "Look at words.json" }).click();
  await page.getByRole("region", { name: "Preview" }).getByText('"words": 5').waitFor();
  const [saved] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "words.json" }).click()]);
  assert.deepEqual(JSON.parse(readFileSync(await saved.path(), "utf8")), { words: 5 });
  cli("artifacts", "get", page.url().split(/[/?]/).find((each) => /^[0-9a-f-]{36}$/.test(each)), "--to", join(cwd, "brought"));
  assert.deepEqual(JSON.parse(readFileSync(join(cwd, "brought", "words.json"), "utf8")), { words: 5 });
  content(page);
});
