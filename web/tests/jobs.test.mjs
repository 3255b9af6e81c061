import assert from "node:assert/strict";
import { after, test } from "node:test";
import { api, close, content, server, signedIn } from "./browser.mjs";

after(close);

test("a job that comes while one looks is shown, and can be called off", async () => {
  const page = await signedIn();
  await page.goto(`${server}/ui/jobs?status=PENDING&processor=nobody-offers-this`);
  await page.getByText("No job fits").waitFor();
  const job = await api("POST", "jobs", { processor: "nobody-offers-this", parameters: { text: "<b>plain</b>" } });

  await page.getByRole("link", { name: job.id.slice(0, 13) }).click();
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
  await page.getByLabel("Status").selectOption("FAILED");
  await page.waitForURL(/status=FAILED/);
  await page.reload();

  assert.equal(await page.getByLabel("Status").inputValue(), "FAILED");
  content(page);
});

test("a job that is not there says so", async () => {
  const page = await signedIn();
  await page.goto(`${server}/ui/jobs/0193d2a0-0000-7000-8000-000000000000`);

  assert.match(await page.getByRole("alert").innerText(), /Not there/);
  content(page);
});
