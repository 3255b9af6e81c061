import assert from "node:assert/strict";
import { content, server, signedIn, story } from "./browser.mjs";
import { calm, places, violations } from "./reading.mjs";

story("a phone shows every page without scrolling it sideways, and its buttons can be hit", async () => {
  const page = await signedIn({ viewport: { width: 390, height: 800 }, hasTouch: true });
  for (const place of await places()) {
    await page.goto(`${server}/ui/${place}`);
    await calm(page);
    const wide = await page.evaluate(() => [...document.querySelectorAll("body *")].filter((each) => document.documentElement.scrollWidth > innerWidth && each.getBoundingClientRect().right > innerWidth + 1 && !each.closest(".scroll, .view")).map((each) => each.outerHTML.slice(0, 120)).slice(-3));
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${place}: ${wide.join(" | ")}`);
    assert.deepEqual(await violations(page, { type: "rule", values: ["target-size", "scrollable-region-focusable", "label", "button-name", "link-name"] }), [], place);
  }
  content(page);
});

story("a job is submitted and called off without a mouse", async () => {
  const page = await signedIn();
  const focus = () => page.evaluate(() => document.activeElement.textContent.trim() || document.activeElement.getAttribute("aria-label") || document.activeElement.tagName);
  /** Tab until one is there, as people do. */
  const reach = async (name) => {
    for (let count = 0; count < 60; count += 1) {
      await page.keyboard.press("Tab");
      if ((await focus()) === name) return;
    }
    assert.fail(`Tab does not lead to ${name}`);
  };
  await page.goto(`${server}/ui/workers`);
  await calm(page);
  await reach("Jobs");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Jobs" }).waitFor();
  assert.equal(await page.title(), "Jobs · Cableferry");
  await page.getByRole("status").getByText("Jobs", { exact: true }).waitFor({ state: "attached" });
  await reach("New job");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "New job" }).waitFor();
  assert.equal(await page.title(), "New job · Cableferry");
  await page.waitForFunction(() => document.activeElement.matches("main, main *"));
  await page.waitForFunction(() => document.activeElement.matches("input"));
  await page.keyboard.type("nobody-types-this");
  await page.getByRole("status").getByText(/nobody-types-this|No worker/).first().waitFor();
  await reach("Submit");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "nobody-types-this" }).waitFor();
  assert.equal(await page.title(), "Job · Cableferry");
  await reach("Cancel job");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").waitFor();
  assert.equal(await focus(), "Back");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").waitFor({ state: "hidden" });
  assert.equal(await focus(), "Cancel job");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").waitFor();
  // nothing behind a question can be reached
  await reach("Cancel the job");
  await page.keyboard.press("Enter");
  await page.getByText("CANCELLED", { exact: true }).first().waitFor();
  await page.getByRole("status").getByText("The job is called off.").waitFor();
  content(page);
});

story("nothing moves for whoever asked for that", async () => {
  const page = await signedIn({ reducedMotion: "reduce" });
  for (const place of ["jobs", "workers", "overview"]) {
    await page.goto(`${server}/ui/${place}`);
    await calm(page);
    const moving = () => [...document.querySelectorAll("*")].filter((each) => [getComputedStyle(each).animationName !== "none", parseFloat(getComputedStyle(each).transitionDuration) > 0].some(Boolean)).map((each) => each.className);
    assert.deepEqual(await page.evaluate(moving), [], place);
  }
  content(page);
});

story("the keyboard reaches the content and every place", async () => {
  const page = await signedIn();
  await page.goto(`${server}/ui/jobs`);
  await page.locator("main h1").first().waitFor();
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Skip to the content");
  const reached = [];
  for (let count = 0; count < 5; count += 1) {
    await page.keyboard.press("Tab");
    reached.push(await page.evaluate(() => document.activeElement.textContent.trim()));
  }
  assert.deepEqual(reached.slice(0, 4), ["Cableferry", "Jobs", "Artifacts", "Workers"]);
  content(page);
});
