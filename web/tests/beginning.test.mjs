import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { close, content, opened } from "./browser.mjs";

after(close);

/** A server that nobody owns, and the address that it printed for its first Owner. */
async function unowned() {
  const data = await mkdtemp(join(tmpdir(), "ferry-"));
  const server = spawn(process.env.STORY_PYTHON, ["-m", "cableferry.cli.main", "serve", "--port", "0", "--data-dir", data], { stdio: ["ignore", "ignore", "pipe"] });
  after(() => server.kill());
  let said = "";
  for await (const piece of server.stderr) {
    said += piece;
    const found = /open (http:\S+)\s/.exec(said);
    if (found) return found[1];
  }
  assert.fail(`no address in ${said}`);
}

test("the first owner is made in the browser, and everybody signs in from then on", async () => {
  const place = await unowned();
  const origin = new URL(place).origin;
  const page = await opened({ server: origin });
  await page.goto(place);
  await page.getByLabel("Name").fill("olga");
  await page.getByLabel("Password", { exact: true }).fill("the ferry leaves at dawn");
  await page.getByLabel("The password again").fill("the ferry leaves at dusk");
  await page.getByRole("button", { name: "Own this server" }).click();
  await page.getByText("the two passwords differ").waitFor();
  await page.getByLabel("The password again").fill("the ferry leaves at dawn");
  await page.getByRole("button", { name: "Own this server" }).click();
  await page.getByRole("heading", { name: "Jobs" }).waitFor();
  await page.getByText("olga").waitFor();

  await page.getByRole("link", { name: "Settings" }).click();
  await page.getByText("data_dir").waitFor();
  await page.getByRole("button", { name: /^Set here/ }).click();
  await page.getByText("flag").first().waitFor();
  const stranger = await opened({ server: origin });
  await stranger.goto(place);
  await stranger.getByRole("heading", { name: "This server has an owner" }).waitFor();
  await stranger.goto(`${origin}/ui/jobs`);
  await stranger.getByRole("heading", { name: "Sign in" }).waitFor();
  for (const each of [page, stranger]) content(each);
});
