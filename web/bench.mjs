// Measures the dashboard in a real browser, for bench/dashboard.py: how soon it can be used, how soon a change is seen,
// what many of them leave behind, and a large upload whose server is killed in the middle.
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { createReadStream, openSync, statSync, writeFileSync, writeSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { api, close, folder, kept, opened, owned, scripts, serve, server, signedIn, unowned } from "./tests/browser.mjs";

const { loads, updates, events, mib } = JSON.parse(process.env.BENCH_SIZES);
const MIB = 1024 * 1024;
const WORKER = { worker_id: "bench" };

function middle(values) {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
}

/** A job that is under way, with what it says and writes. */
async function running(processor) {
  await api("POST", "workers/register", { ...WORKER, capabilities: [{ processor, max_concurrent_jobs: 9 }] });
  const job = await api("POST", "jobs", { processor });
  await api("POST", `jobs/${job.id}/claim`, WORKER);
  for (const status of ["SUBMITTED", "STARTED"]) await api("POST", `jobs/${job.id}/transition`, { ...WORKER, status });
  return job;
}

const say = (job, message) => api("POST", `jobs/${job.id}/transition`, { ...WORKER, status: "STARTED", message });

/** Milliseconds until rows of the list can be clicked, each time in a browser that knows nothing; beside an empty page. */
async function interactive() {
  for (let count = 0; count < 50; count += 1) await api("POST", "jobs", { processor: "waits" });
  const empty = createServer((_, answer) => answer.writeHead(200, { "Content-Type": "text/html" }).end("<!doctype html><title>x</title><h1>x</h1>"));
  await new Promise((resolve) => empty.listen(0, "127.0.0.1", resolve));
  const [floors, values] = [[], []];
  let script = 0;
  for (let count = 0; count < loads + 1; count += 1) {
    const home = `http://127.0.0.1:${empty.address().port}`;
    for (const [place, what, times] of [[home, "h1", floors], [`${server}/ui/jobs`, "main tbody tr a", values]]) {
      const page = await signedIn();
      await page.addInitScript((wanted) => {
        const look = () => document.querySelector(wanted) && (window.seenAt ??= performance.now());
        new MutationObserver(look).observe(document, { childList: true, subtree: true });
      }, what);
      await page.goto(place);
      await page.waitForFunction(() => window.seenAt !== undefined);
      times.push(await page.evaluate(() => window.seenAt));
      script = await page.evaluate(scripts);
      await page.context().close();
    }
  }
  empty.close();
  // the first one of each warms the browser and the server
  const [of, more] = [values.slice(1), floors.slice(1)];
  return { interactive_ms: middle(of), interactive_max_ms: Math.max(...of), empty_ms: middle(more), script_kb: script / 1000 };
}

/** What a plain client hears of a feed, and when. */
async function listening(path, heard) {
  const answer = await fetch(`${server}${path}`, { headers: { Authorization: `Bearer ${process.env.STORY_TOKEN}` } });
  const reader = answer.body.getReader();
  let text = "";
  void (async () => {
    for (;;) {
      const { done, value } = await reader.read().catch(() => ({ done: true }));
      if (done) return;
      // a picture may come in several pieces
      text = (text + Buffer.from(value).toString()).slice(-1_000_000);
      for (const [mark, resolve] of heard) if (text.includes(mark)) resolve(performance.now());
    }
  })();
  return () => reader.cancel();
}

/** Milliseconds from the moment of a report until it is seen on a page, and until a plain client hears of it. */
async function delays(page, path, job) {
  const heard = new Map();
  const stop = await listening(path, heard);
  const [seen, told] = [[], []];
  for (let count = 0; count < updates; count += 1) {
    const mark = crypto.randomUUID();
    const hears = new Promise((resolve) => heard.set(mark, resolve));
    const sees = page.waitForFunction((text) => document.querySelector("main").textContent.includes(text), mark, { polling: 20 }).then(() => performance.now());
    // changes come at any moment of the feed's own rhythm
    await new Promise((resolve) => setTimeout(resolve, 100 + ((count * 137) % 600)));
    const began = performance.now();
    await say(job, mark);
    seen.push((await sees) - began);
    told.push((await hears) - began);
    heard.delete(mark);
  }
  await stop();
  return { p50: middle(seen), max: Math.max(...seen), heard: middle(told) };
}

async function live() {
  const job = await running("is-followed");
  const page = await signedIn();
  await page.goto(`${server}/ui/jobs?processor=is-followed`);
  await page.getByRole("row", { name: /is-followed/ }).waitFor();
  const list = await delays(page, "/api/ui/jobs/events?processor=is-followed", job);
  await page.goto(`${server}/ui/jobs/${job.id}`);
  await page.getByRole("heading", { name: "is-followed" }).waitFor();
  const one = await delays(page, `/api/ui/jobs/${job.id}/events`, job);
  await page.context().close();
  return { list_p50_ms: list.p50, list_max_ms: list.max, list_heard_ms: list.heard, job_p50_ms: one.p50, job_max_ms: one.max, job_heard_ms: one.heard };
}

/** Mebibytes that two pages keep after three fifths of the events, when all that is bounded is full, and at the end. */
async function memory() {
  const job = await running("is-written");
  const page = await signedIn();
  await page.goto(`${server}/ui/jobs/${job.id}`);
  const list = await signedIn();
  await list.goto(`${server}/ui/jobs`);
  const sizes = [];
  let offset = 0;
  for (let count = 0; count <= events; count += 1) {
    const line = `${count} ${"x".repeat(60)}\n`;
    await api("POST", `jobs/${job.id}/logs/stdout`, { ...WORKER, offset, content: btoa(line.repeat(100)) });
    offset += line.length * 100;
    await say(job, `event ${count}`);
    if (count > 0 && count % Math.ceil(events / 5) === 0) sizes.push((await kept(page)) + (await kept(list)));
  }
  for (const each of [page, list]) await each.context().close();
  return { heap_early_mib: Math.max(...sizes.slice(0, 3)) / MIB, heap_late_mib: Math.max(...sizes.slice(-2)) / MIB };
}

async function written(size) {
  const [path, block] = [join(await folder(), "large.bin"), randomBytes(MIB)];
  const file = openSync(path, "w");
  for (let count = 0; count < size; count += 1) {
    block.writeUInt32LE(count);
    writeSync(file, block);
  }
  return path;
}

async function hashed(path) {
  const sum = createHash("sha256");
  for await (const part of createReadStream(path, { highWaterMark: 4 * MIB })) sum.update(part);
  return sum.digest("hex");
}

/** An upload of so many mebibytes whose server is killed half-way. */
async function uploaded() {
  const own = await unowned();
  const page = await opened({ server: own.origin });
  page.setDefaultTimeout(400_000);
  await owned(page, own.address);
  const path = await written(mib);
  // a small one would be over before anybody is killed
  const line = await page.context().newCDPSession(page);
  if (mib < 64) await line.send("Network.emulateNetworkConditions", { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: 12 * MIB });
  const size = statSync(path).size;
  let began = performance.now();
  const sha256 = await hashed(path);
  const floor = size / 1e3 / (performance.now() - began);
  await page.goto(`${own.origin}/ui/artifacts/new`);
  await page.getByLabel("files", { exact: true }).setInputFiles(path);
  began = performance.now();
  await page.getByRole("button", { name: "Create and upload" }).click();
  await page.waitForFunction(() => document.querySelector("main progress")?.value > 0);
  const hashing = performance.now() - began;
  await page.waitForFunction((least) => document.querySelector("main progress")?.value >= least, size / 2);
  own.process.kill("SIGKILL");
  await once(own.process, "exit");
  await page.getByText("goes on when it does").waitFor();
  const before = await page.locator("main progress").evaluate((each) => each.value);
  assert.ok(before < size, "the upload was over before the server was killed");
  serve(own.data, new URL(own.origin).port);
  await page.getByText("there, with the right hash").waitFor();
  const taken = performance.now() - began - hashing;
  await page.locator(`code[title="${sha256}"]`).waitFor();
  return { hash_mb_s: size / 1e3 / hashing, hash_floor_mb_s: floor, upload_mb_s: size / 1e3 / taken, at_the_kill_mib: before / MIB };
}

const found = { ...(await interactive()), ...(await live()), ...(await memory()), ...(await uploaded()) };
writeFileSync(process.env.BENCH_FILE, JSON.stringify(found));
await close();
