import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, test } from "node:test";
import { api, close, content, server, signedIn } from "./browser.mjs";

after(close);

const WORKER = { worker_id: "scribe" };

async function written(job, offset, text, stream = "stdout") {
  await api("POST", `jobs/${job.id}/logs/${stream}`, { ...WORKER, offset, content: Buffer.from(text).toString("base64") });
  return offset + Buffer.byteLength(text);
}

async function running(processor) {
  await api("POST", "workers/register", { ...WORKER, capabilities: [{ processor }] });
  const job = await api("POST", "jobs", { processor });
  await api("POST", `jobs/${job.id}/claim`, WORKER);
  for (const status of ["SUBMITTED", "STARTED"]) await api("POST", `jobs/${job.id}/transition`, { ...WORKER, status });
  return job;
}

test("a log is followed line by line, colours and all, and nothing in it is run", async () => {
  const page = await signedIn();
  const job = await running("writes");
  await page.goto(`${server}/ui/jobs/${job.id}`);
  await page.getByText("Nothing is written so far").waitFor();
  let end = await written(job, 0, "first line\n\u001b[31mred\u001b[0m and <img src=x onerror=alert(1)>\nhalf a ");
  const log = page.getByRole("group", { name: /^stdout/ });
  await log.getByText("half a").waitFor();
  end = await written(job, end, "line\n10 %\r50 %\r100 %\r\n");
  await log.getByText("half a line").waitFor();
  await log.getByText("100 %", { exact: true }).waitFor();

  assert.equal(await log.getByText("red", { exact: true }).getAttribute("class"), "red");
  assert.equal(await log.locator("img").count(), 0);
  await written(job, 0, "it went wrong\n", "stderr");
  await page.getByRole("button", { name: "stderr" }).click();
  await page.getByText("it went wrong").waitFor();
  await api("POST", `jobs/${job.id}/transition`, { ...WORKER, status: "COMPLETED" });
  await page.getByText("COMPLETED").first().waitFor();
  content(page);
});

test("a long log is searched and downloaded whole, and few of its lines are drawn", async () => {
  const page = await signedIn();
  const job = await running("writes-much");
  let end = 0;
  for (let part = 0; part < 10; part += 1) {
    const lines = Array.from({ length: 2000 }, (_, line) => `line ${part * 2000 + line} of many`);
    end = await written(job, end, `${lines.join("\n")}\n`);
  }
  await page.goto(`${server}/ui/jobs/${job.id}`);
  const log = page.getByRole("group", { name: /^stdout/ });
  await log.getByText("line 19999 of many").waitFor();
  await page.getByText("Earlier lines are not shown").waitFor();
  assert.ok((await log.locator(".line").count()) < 200);

  await page.getByPlaceholder("search", { exact: true }).fill("line 17777 ");
  await page.getByText("1 of 1").waitFor();
  await log.getByText("line 17777 ").waitFor();
  const arrived = page.waitForEvent("download");
  await page.getByRole("button", { name: /^Download/ }).click();
  const text = await readFile(await (await arrived).path(), "utf8");
  assert.equal(text.length, end);
  assert.ok(text.startsWith("line 0 of many\n"));
  content(page);
});
