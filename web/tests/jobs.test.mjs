import assert from "node:assert/strict";
import { after, test } from "node:test";
import { api, close, content, server, signedIn } from "./browser.mjs";

after(close);

test("a job that comes while one looks is shown, and can be called off", async () => {
  const page = await signedIn();
  await page.goto(`${server}/ui/jobs?status=PENDING&processor=nobody-offers-this`);
  await page.getByText("No job fits").waitFor();
  const job = await api("POST", "jobs", { processor: "nobody-offers-this", parameters: { text: "<b>plain</b>" } });

  await page.getByRole("row", { name: new RegExp(job.id.slice(0, 13)) }).getByRole("link").click();
  await page.getByText("nobody-offers-this").first().waitFor();
  await page.getByText("PENDING").first().waitFor();
  await page.getByText('"text": "<b>plain</b>"').waitFor();
  await page.getByRole("button", { name: "Cancel job" }).click();
  await page.getByRole("button", { name: "Cancel the job" }).click();
  await page.getByText("CANCELLED").first().waitFor();
  assert.equal((await api("GET", `jobs/${job.id}`)).status, "CANCELLED");
  content(page);
});

test("a real job is followed from its submission to its end", async () => {
  const page = await signedIn();
  const job = await api("POST", "jobs", { processor: "count-primes", parameters: { below: 5000 } });
  await page.goto(`${server}/ui/jobs/${job.id}`);

  await page.getByText("STARTED").first().waitFor();
  await page.getByRole("progressbar").waitFor();
  await page.getByText("COMPLETED").first().waitFor();
  content(page);
});

test("the filter is in the address, and the address can be shared", async () => {
  const page = await signedIn();
  await page.goto(`${server}/ui/jobs`);
  await page.getByRole("group", { name: "Status" }).getByRole("button", { name: "FAILED" }).click();
  await page.waitForURL(/status=FAILED/);
  await page.reload();

  await page.getByRole("button", { name: "FAILED", pressed: true }).waitFor();
  content(page);
});

test("a job that is not there says so", async () => {
  const page = await signedIn();
  await page.goto(`${server}/ui/jobs/0193d2a0-0000-7000-8000-000000000000`);

  assert.match(await page.getByRole("alert").innerText(), /Not there/);
  content(page);
});

test("the newest job comes first, changes show by themselves, and pages lead on", async () => {
  const page = await signedIn();
  await page.goto(`${server}/ui/jobs?processor=nobody-has-this`);
  await page.getByText("No job fits").waitFor();
  const jobs = [];
  for (let count = 0; count < 52; count += 1) jobs.push(await api("POST", "jobs", { processor: "nobody-has-this" }));
  const first = page.locator("tbody tr").first();
  await page.getByRole("button", { name: "PENDING 52" }).waitFor();
  assert.match(await first.innerText(), new RegExp(jobs.at(-1).id.slice(0, 13)));

  await api("POST", `jobs/${jobs.at(-1).id}/cancel`, {});
  await first.getByText("CANCELLED", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Older" }).click();
  await page.waitForURL(/older=/);
  await page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 2);
  await page.getByRole("button", { name: "Newer" }).click();
  await page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 50);
  content(page);
});

test("many jobs are called off at once, and what could not be is counted", async () => {
  const page = await signedIn();
  const jobs = [];
  for (let count = 0; count < 3; count += 1) jobs.push(await api("POST", "jobs", { processor: "nobody-runs-this" }));
  await page.goto(`${server}/ui/jobs?processor=nobody-runs-this`);
  await page.getByLabel("Choose all of this page").check();
  await page.getByRole("button", { name: "Cancel 3" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Cancel 3" }).click();
  await page.getByText("3 jobs called off.").waitFor();
  await page.getByRole("button", { name: "CANCELLED 3" }).waitFor();

  await page.getByLabel("Choose all of this page").check();
  await page.getByRole("button", { name: "Delete 3" }).click();
  await api("DELETE", `jobs/${jobs[0].id}`);
  await page.getByRole("dialog").getByRole("button", { name: "Delete 2" }).click();
  await page.getByText("2 jobs deleted.").waitFor();
  await page.getByText("No job fits").waitFor();
  content(page);
});

test("an id leads to its job", async () => {
  const page = await signedIn();
  const job = await api("POST", "jobs", { processor: "nobody-seeks-this" });
  await page.goto(`${server}/ui/jobs`);
  await page.getByLabel("Find").fill(job.id);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "nobody-seeks-this" }).waitFor();
  content(page);
});

test("a job is submitted in the browser, and run again", async () => {
  const page = await signedIn();
  await page.goto(`${server}/ui/jobs`);
  await page.getByRole("button", { name: "New job" }).click();
  await page.getByLabel("Processor").fill("nobody-offered-this");
  await page.getByText("No worker offers this").waitFor();
  await page.getByLabel("Processor").fill("count-primes");
  await page.getByText("Worker demo-worker offers this.").waitFor();
  await page.getByLabel("Parameters").fill('{"below": 20');
  await page.getByText("This is no JSON").waitFor();
  assert.ok(await page.getByRole("button", { name: "Submit" }).isDisabled());
  await page.getByLabel("Parameters").fill('{"below": 20}');
  await page.getByRole("button", { name: "Submit" }).click();
  await page.getByText("COMPLETED").first().waitFor();
  const first = page.url();

  await page.getByRole("button", { name: "Run again" }).click();
  await page.waitForFunction(() => document.querySelector("textarea")?.value.includes("20"));
  await page.getByLabel("Inputs").fill("0193d2a0-0000-7000-8000-000000000000");
  await page.getByRole("button", { name: "Submit" }).click();
  assert.match(await page.getByRole("alert").innerText(), /no artifact/);
  await page.getByLabel("Inputs").fill("");
  await page.getByRole("button", { name: "Submit" }).click();
  await page.getByText("COMPLETED").first().waitFor();
  assert.notEqual(page.url(), first);
  content(page);
});
