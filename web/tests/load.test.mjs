import assert from "node:assert/strict";
import { api, content, kept, scripts, server, signedIn, story } from "./browser.mjs";

const WORKER = { worker_id: "tireless" };
const EVENTS = 360;
const MIB = 1024 * 1024;

story("the first page takes less than 200 KB of scripts, and no later one much more", async () => {
  const page = await signedIn();
  await page.goto(server);
  await page.getByRole("heading", { name: "Jobs" }).waitFor();
  const first = await page.evaluate(scripts);
  assert.ok(first > 10_000 && first < 200_000, `${first} bytes`);
  for (const [name, heading] of [["Artifacts", "Artifacts"], ["Workers", "Workers"], ["Overview", "Overview"], ["Settings", "Settings"]]) {
    await page.getByRole("link", { name, exact: true }).click();
    await page.getByRole("heading", { name: heading, level: 1 }).waitFor();
  }
  const all = await page.evaluate(scripts);
  assert.ok(all < 200_000, `${all} bytes`);
  content(page);
});

story("a page that many events came to keeps no more than it shows", async () => {
  await api("POST", "workers/register", { ...WORKER, capabilities: [{ processor: "goes-on" }] });
  const job = await api("POST", "jobs", { processor: "goes-on" });
  await api("POST", `jobs/${job.id}/claim`, WORKER);
  for (const status of ["SUBMITTED", "STARTED"]) await api("POST", `jobs/${job.id}/transition`, { ...WORKER, status });
  const [page, list] = [await signedIn(), await signedIn()];
  await page.goto(`${server}/ui/jobs/${job.id}`);
  await list.goto(`${server}/ui/jobs`);
  const sizes = [];
  const say = (message) => api("POST", `jobs/${job.id}/transition`, { ...WORKER, status: "STARTED", message });
  for (let count = 0; count < EVENTS; count += EVENTS / 6) {
    for (let at = count; at < count + EVENTS / 6; at += 20) await Promise.all(Array.from({ length: 20 }, (_, each) => say(`event ${at + each}`)));
    await say(`all ${count}`);
    for (const each of [page, list]) await each.getByText(`all ${count}`).first().waitFor();
    sizes.push((await kept(page)) + (await kept(list)));
  }
  // the history tells of the last 200 reports, and is full by then
  const [early, late] = [sizes[3], Math.max(...sizes.slice(-2))];
  assert.ok(late < early + MIB, `${sizes.map((each) => (each / MIB).toFixed(2))} MiB`);
  for (const each of [page, list]) content(each);
});
