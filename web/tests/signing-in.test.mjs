import assert from "node:assert/strict";
import { after, test } from "node:test";
import { close, content, opened, server, signedIn, signIn } from "./browser.mjs";

after(close);

test("a wrong password is said where one looks next, and the right one lets in", async () => {
  const page = await opened();
  await page.goto(`${server}/ui/workers`);
  await signIn(page, "demo", "a wrong guess");

  assert.match(await page.getByRole("alert").innerText(), /password is wrong/);
  assert.equal(await page.getByLabel("Password").inputValue(), "");
  content(page);
});

test("a page that was asked for before signing in is shown after it, and survives a reload", async () => {
  const page = await opened();
  await page.goto(`${server}/ui/workers`);
  await signIn(page);
  await page.getByRole("heading", { name: "Workers" }).waitFor();
  await page.reload();
  await page.getByText("demo-worker").waitFor();
  content(page);
});

test("signing out leaves nothing to be seen", async () => {
  const page = await opened();
  await page.goto(server);
  await signIn(page);
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  await page.goto(`${server}/ui/account`);
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  content(page);
});

test("a token is made, shown once, and revoked", async () => {
  const label = `script ${Date.now()}`;
  const page = await signedIn();
  await page.goto(`${server}/ui/account`);
  await page.getByRole("region", { name: "Tokens", exact: true }).getByLabel("For").fill(label);
  await page.getByRole("button", { name: "Make a token" }).click();
  const text = await page.getByRole("status").filter({ hasText: "shown once" }).locator("code").innerText();
  const asked = () => fetch(`${server}/api/ui/me`, { headers: { Authorization: `Bearer ${text}` } });

  assert.equal((await asked()).status, 200);
  await page.getByRole("row", { name: label }).getByRole("button", { name: "Revoke" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke it" }).click();
  await page.getByRole("row", { name: label }).getByText("revoked").waitFor();
  assert.equal((await asked()).status, 401);
  await page.reload();
  await page.getByText(label).waitFor();
  assert.equal(await page.getByText(text).count(), 0);
  content(page);
});

test("the chosen theme stays chosen", async () => {
  const page = await signedIn({ colorScheme: "light" });
  await page.goto(server);
  const shown = () => page.evaluate(() => document.documentElement.dataset.theme);

  assert.equal(await shown(), "light");
  const button = page.getByRole("button", { name: /^Theme/ });
  await button.click();
  await button.click();
  assert.equal(await shown(), "dark");
  await page.reload();
  assert.equal(await shown(), "dark");
  content(page);
});
