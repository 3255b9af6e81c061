import assert from "node:assert/strict";
import { after, test } from "node:test";
import { close, content, opened, server } from "../browser.mjs";
import { ask, figures, said, watched } from "./watch.mjs";

after(close);

const LINES = Number(process.env.STORY_LINES);

test("a log of a hundred megabytes is looked through without a pause", async () => {
  const page = await opened();
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
  assert.ok(scrolled.blocked < 0.25, "it was kept from drawing for a quarter of the time");
  assert.ok((await log.locator(".line").count()) < 200);
  content(page);
});
