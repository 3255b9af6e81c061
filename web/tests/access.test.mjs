import assert from "node:assert/strict";
import { content, contentButAway, opened, server, signedIn, signIn, story } from "./browser.mjs";
import { check, places, samples } from "./reading.mjs";

story("every page can be read and used by everybody, in both themes, whatever it has to show", async () => {
  const stranger = await opened();
  await stranger.goto(server);
  await check(stranger, "sign in");
  await signIn(stranger, "demo", "a wrong guess");
  await stranger.getByRole("alert").waitFor();
  await check(stranger, "sign in, refused");

  const page = await signedIn();
  for (const place of await places()) {
    await page.goto(`${server}/ui/${place}`);
    await check(page, place);
  }
  await page.context().setOffline(true);
  await page.getByRole("link", { name: "Workers" }).click();
  await page.getByText("What you see is as it was").waitFor();
  await check(page, "away");
  await page.context().setOffline(false);
  contentButAway(page);
}, 170);

story("questions, secrets and messages can be read and used by everybody too", async () => {
  const { job, artifact } = await samples();
  const page = await signedIn();
  for (const [place, button] of [[`jobs/${job.id}`, "Cancel job"], [`artifacts/${artifact.id}`, "Commit"], [`artifacts/${artifact.id}`, "Delete"], ["account", "Sign out everywhere"], ["workers/reads", "Remove"]]) {
    await page.goto(`${server}/ui/${place}`);
    await page.getByRole("button", { name: button, exact: true }).click();
    await page.getByRole("dialog").waitFor();
    await check(page, `${place}: ${button}`);
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "hidden" });
    assert.equal(await page.evaluate(() => document.activeElement.textContent.trim()), button);
  }
  await page.goto(`${server}/ui/jobs`);
  await page.getByLabel("Choose all of this page").check();
  await page.getByRole("button", { name: /^Delete \d/ }).click();
  await page.getByRole("dialog").waitFor();
  await check(page, "jobs: delete many");
  await page.goto(`${server}/ui/account`);
  await page.getByRole("region", { name: "Tokens", exact: true }).getByLabel("For").fill(`reads ${Date.now()}`);
  await page.getByRole("button", { name: "Make a token" }).click();
  await page.getByText("The token is made").waitFor();
  await check(page, "a token");
  await page.goto(`${server}/ui/workers/new`);
  await page.getByLabel("Name").fill("reads-2");
  await page.getByRole("button", { name: "Issue its secret" }).click();
  await page.getByText("shown once").waitFor();
  await check(page, "a secret");
  content(page);
});
