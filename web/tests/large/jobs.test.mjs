import assert from "node:assert/strict";
import { after, test } from "node:test";
import { close, content, opened, server } from "../browser.mjs";
import { ask, figures, said, watched } from "./watch.mjs";

after(close);

test("among a hundred thousand jobs the list stays smooth while some come and go", async () => {
  const page = await opened();
  // a machine that does much else is slow, and that is not the question here
  page.setDefaultTimeout(60_000);
  await page.goto(`${server}/ui/jobs`);
  await page.getByRole("button", { name: /^All 100,/ }).waitFor();
  await watched(page);
  const ids = [];
  for (let count = 0; count < 60; count += 1) {
    ids.push((await ask("POST", "jobs", { processor: "align-1" })).id);
    if (count % 2) await ask("POST", `jobs/${ids.at(-2)}/cancel`, {});
    if (count % 6 === 0) await page.mouse.wheel(0, count % 12 ? -400 : 400);
    await page.waitForTimeout(50);
  }
  await page.waitForFunction((id) => document.querySelector("tbody")?.textContent.includes(id), ids.at(-1).slice(0, 13));
  const found = await figures(page);
  console.log(said("100 000 jobs, 90 changes", found));
  assert.ok(found.blocked < 0.5, "it was kept from drawing for half of the time");

  const filters = page.getByRole("group", { name: "Status" });
  const took = [];
  for (const [word, rows] of [["FAILED", 50], ["STARTED", 50], ["CLAIMED", 0], ["CANCELLED", 50]]) {
    const begun = Date.now();
    await filters.getByRole("button", { name: new RegExp(`^${word}`) }).click();
    await page.waitForFunction(
      ([word, rows]) => {
        const words = [...document.querySelectorAll("tbody .status")].map((each) => each.textContent.trim());
        return rows ? words.length === rows && words.every((each) => each === word) : document.body.innerText.includes("No job fits");
      },
      [word, rows],
      { polling: "raf" },
    );
    took.push(Date.now() - begun);
  }
  console.log(`figures: a filter from the press to its rows: ${took.sort((a, b) => a - b).join(", ")} ms`);
  await page.getByLabel("Find").fill("such needle");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "CANCELLED" }).first().waitFor();
  await filters.getByRole("button", { name: "All" }).click();
  await page.getByRole("link", { name: "once-only" }).waitFor();
  content(page);
});
