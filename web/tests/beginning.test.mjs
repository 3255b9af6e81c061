import { after, test } from "node:test";
import { close, content, opened, unowned } from "./browser.mjs";

after(close);

test("the first owner is made in the browser, and everybody signs in from then on", async () => {
  const { address: place } = await unowned();
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
