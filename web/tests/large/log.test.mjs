import assert from "node:assert/strict";
import { after, test } from "node:test";
import { close, content, opened, server } from "../browser.mjs";
import { figures, said, watched } from "./watch.mjs";

after(close);

const LINES = Number(process.env.STORY_LINES);

/** To another part, which is there when the line above it tells so. */
async function go(page, name) {
  const told = page.getByText(/^From .* to .* of /);
  const before = await told.innerText();
  await page.getByRole("button", { name }).click();
  await page.waitForFunction((text) => ![...document.querySelectorAll("p")].some((each) => each.innerText === text), before);
}

async function numberOf(log, which) {
  return Number(/line (\d+) of/.exec(await log.locator(".line")[which]().textContent())[1]);
}

test("a log of a hundred megabytes is looked through without a pause", async () => {
  const page = await opened();
  // a machine that does much else is slow, and that is not the question here
  page.setDefaultTimeout(60_000);
  const begun = Date.now();
  await page.goto(`${server}/ui/jobs/${process.env.STORY_JOB}`);
  const log = page.getByRole("group", { name: /^stdout/ });
  await log.getByText(`line ${LINES - 1} of`).waitFor();
  console.log(`figures: the end of the log was seen ${Date.now() - begun} ms after the address was opened`);
  await page.getByRole("button", { name: /^Download 9\d MiB/ }).waitFor();

  await watched(page);
  await log.hover();
  for (let step = 0; step < 40; step += 1) {
    await page.mouse.wheel(0, step % 8 < 4 ? -2500 : 2500);
    await page.waitForTimeout(40);
  }
  const scrolled = await figures(page);
  console.log(said("scrolling", scrolled));
  assert.ok(scrolled.blocked < 0.5, "it was kept from drawing for half of the time");
  assert.ok((await log.locator(".line").count()) < 200);

  const wanted = Math.floor(LINES / 3);
  await page.getByPlaceholder("search", { exact: true }).fill(`line ${wanted} of`);
  await watched(page);
  const asked = Date.now();
  await page.getByRole("button", { name: "Search all of it" }).click();
  await log.getByText(`line ${wanted} of`).waitFor();
  const met = Date.now() - asked;
  await page.getByText("1 of 1", { exact: true }).waitFor();
  console.log(`figures: a line far inside was found and shown after ${met} ms, all was looked through after ${Date.now() - asked} ms`);
  const searched = await figures(page);
  console.log(said("searching all of it", searched));

  await page.getByPlaceholder("search", { exact: true }).fill("");
  await go(page, "Later");
  const first = await numberOf(log, "first");
  await go(page, "Earlier");
  await log.evaluate((box) => box.scrollTo({ top: box.scrollHeight }));
  await log.getByText(`line ${first - 1} of`).waitFor();
  assert.equal(await numberOf(log, "last"), first - 1);
  await page.getByLabel("Which part of the log").fill("0");
  await log.getByText("line 0 of").waitFor();
  await page.getByRole("button", { name: "To the end" }).click();
  await log.getByText(`line ${LINES - 1} of`).waitFor();
  content(page);
});
