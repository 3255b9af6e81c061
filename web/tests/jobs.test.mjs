import assert from "node:assert/strict";
import { after, test } from "node:test";
import { api, close, content, server, signedIn } from "./browser.mjs";

after(close);

// each run on a server has jobs of its own
const mark = crypto.randomUUID().slice(0, 8);
let page;
async function opened(place) {
  page ??= await signedIn();
  await page.goto(`${server}/ui/${place}`);
  return page;
}

test("a job that comes while one looks is shown, and can be called off", async () => {
  await opened("jobs?status=PENDING&processor=nobody-offers-this");
  await page.getByText("No job fits").waitFor();
  const job = await api("POST", "jobs", { processor: "nobody-offers-this", parameters: { text: "<b>plain</b>" } });

  await page.getByRole("row", { name: new RegExp(job.id.slice(0, 13)) }).getByRole("link").click();
  await page.getByText("nobody-offers-this").first().waitFor();
  await page.getByText("PENDING").first().waitFor();
  await page.getByText('"text": "<b>plain</b>"').waitFor();
  await page.getByRole("button", { name: "Cancel job" }).click();
  await page.getByRole("dialog").getByText("nothing runs and nothing is lost").waitFor();
  await page.getByRole("button", { name: "Cancel the job" }).click();
  await page.getByText("CANCELLED").first().waitFor();
  assert.equal((await api("GET", `jobs/${job.id}`)).status, "CANCELLED");

  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete the job" }).click();
  await page.waitForURL(/\/ui\/jobs$/);
  content(page);
});

test("the filter is in the address, and the address can be shared", async () => {
  await opened("jobs");
  await page.getByRole("group", { name: "Status" }).getByRole("button", { name: "FAILED" }).click();
  await page.waitForURL(/status=FAILED/);
  await page.reload();

  await page.getByRole("button", { name: "FAILED", pressed: true }).waitFor();
  content(page);
});

test("a job that is not there says so", async () => {
  await opened("jobs/0193d2a0-0000-7000-8000-000000000000");

  assert.match(await page.getByRole("alert").innerText(), /Not there/);
  content(page);
});

test("the newest job comes first, changes show by themselves, and pages lead on", async () => {
  await opened(`jobs?processor=nobody-has-this-${mark}`);
  await page.mouse.move(1, 1);
  await page.getByText("No job fits").waitFor();
  const jobs = [];
  for (let count = 0; count < 52; count += 1) jobs.push(await api("POST", "jobs", { processor: `nobody-has-this-${mark}` }));
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

test("rows keep their place under a hand, and still say what is new of them", async () => {
  const old = await api("POST", "jobs", { processor: `nobody-moves-this-${mark}` });
  await opened(`jobs?processor=nobody-moves-this-${mark}`);
  const first = page.locator("tbody tr").first();
  await first.getByText("PENDING", { exact: true }).hover();
  const young = await api("POST", "jobs", { processor: `nobody-moves-this-${mark}` });
  await page.getByText("1 job has come since.").waitFor();
  await api("POST", `jobs/${old.id}/cancel`, {});
  await first.getByText("CANCELLED", { exact: true }).waitFor();
  assert.equal(await page.locator("tbody tr").count(), 1);

  await page.mouse.move(1, 1);
  await page.waitForFunction((id) => document.querySelector("tbody tr")?.textContent.includes(id), young.id.slice(0, 13));
  content(page);
});

test("many jobs are called off at once, and what could not be is counted", async () => {
  const jobs = [];
  for (let count = 0; count < 3; count += 1) jobs.push(await api("POST", "jobs", { processor: `nobody-runs-this-${mark}` }));
  await opened(`jobs?processor=nobody-runs-this-${mark}`);
  await page.getByLabel("Choose all of this page").check();
  await page.getByRole("button", { name: "Cancel 3" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Cancel 3" }).click();
  await page.getByText("3 jobs called off.").waitFor();
  await page.getByRole("button", { name: "CANCELLED 3" }).waitFor();

  await page.getByLabel("Choose all of this page").check();
  await page.getByRole("button", { name: "Delete 3" }).click();
  await api("DELETE", `jobs/${jobs[0].id}`);
  await page.getByRole("dialog").getByRole("button", { name: "Delete 3" }).click();
  await page.getByText("2 jobs deleted.").waitFor();
  await page.getByText(/^1 of 3 not deleted: .*it/).waitFor();
  await page.getByText("No job fits").waitFor();
  content(page);
});

test("an id leads to its job, and anything else is looked for", async () => {
  const job = await api("POST", "jobs", { processor: `nobody-seeks-this-${mark}` });
  await api("POST", `jobs/${job.id}/cancel`, { detail: `No such MODEL ${mark}` });
  await opened("jobs");
  await page.getByLabel("Find").fill(`such model ${mark}`);
  await page.keyboard.press("Enter");
  await page.waitForURL(/search=such(\+|%20)model/);
  await page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 1);
  await page.getByRole("link", { name: `nobody-seeks-this-${mark}` }).waitFor();
  // of a search it is not known how many there are in each status
  await page.getByRole("button", { name: "FAILED", exact: true }).waitFor();
  await page.getByLabel("Find").fill(job.id);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: `nobody-seeks-this-${mark}` }).waitFor();
  content(page);
});

test("how many jobs there were is drawn up to this moment", async () => {
  await api("POST", "jobs", { processor: "nobody-draws-this" });
  await opened("jobs?hours=1");
  const chart = page.getByRole("region", { name: "Over time" });
  await chart.getByText(/PENDING|nothing to draw yet/).first().waitFor();
  await chart.getByRole("button", { name: "ended" }).click();
  await page.waitForURL(/chart=ended/);
  await chart.getByRole("button", { name: "week" }).click();
  await page.waitForURL(/hours=168/);
  content(page);
});
