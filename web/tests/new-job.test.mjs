import assert from "node:assert/strict";
import { after, test } from "node:test";
import { api, close, content, server, signedIn } from "./browser.mjs";

after(close);

let page;
async function opened(place) {
  page ??= await signedIn();
  await page.goto(`${server}/ui/${place}`);
  return page;
}

const here = (name) => page.getByRole("region", { name, exact: true });

test("a form is made of what a processor says of its parameters, and a job runs to its end", async () => {
  await opened("jobs");
  await page.getByRole("button", { name: "New job" }).click();
  await page.getByRole("heading", { name: "New job" }).waitFor();
  await page.getByLabel("Processor").fill("nobody-offered-this");
  await here("Before you submit").getByText(/offers? processor nobody-offered-this|does not offer/).waitFor();
  await page.getByLabel("Processor").fill("count-primes");
  await here("Before you submit").getByText("It waits for demo-worker to ask for work.").waitFor();
  const below = page.getByLabel("Below (required)");
  assert.equal(await below.inputValue(), "30000");
  await below.fill("1");
  await page.getByText("must be at least 2").first().waitFor();
  await below.fill("");
  await page.getByText("is required").first().waitFor();
  await below.fill("20");
  await page.getByRole("button", { name: "JSON" }).click();
  const raw = page.getByRole("textbox", { name: "Parameters" });
  assert.deepEqual(JSON.parse(await raw.inputValue()), { below: 20 });
  await raw.fill('{"below": 20');
  await page.getByText("This is no JSON").waitFor();
  assert.ok(await page.getByRole("button", { name: "Submit" }).isDisabled());
  await raw.fill('{"below": 2.5}');
  await here("Parameters").getByText("must be a whole number").waitFor();
  await page.getByRole("button", { name: "Submit" }).click();
  await page.getByRole("dialog").getByText("do not fit what count-primes says").waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Back" }).click();
  await raw.fill('{"below": 20}');
  await page.getByLabel("Time limit").fill("5400");
  await page.getByText("1 h 30 min").waitFor();
  await page.getByLabel("Priority").fill("7");
  await page.getByRole("button", { name: "Submit" }).click();
  await page.getByText("COMPLETED").first().waitFor();
  const job = await api("GET", `jobs/${page.url().split("/").pop()}`);
  assert.deepEqual([job.parameters, job.timeout_seconds, job.priority], [{ below: 20 }, 5400, 7]);
  content(page);
});

test("what was submitted is cloned, or run again as it was", async () => {
  const first = await api("POST", "jobs", { processor: "count-primes", parameters: { below: 30 }, timeout_seconds: 600, priority: 3 });
  await opened(`jobs/${first.id}`);
  await page.getByRole("button", { name: "Run again" }).click();
  await page.waitForURL((url) => !url.pathname.endsWith(first.id));
  const again = await api("GET", `jobs/${page.url().split("/").pop()}`);
  assert.deepEqual([again.parameters, again.timeout_seconds, again.priority], [{ below: 30 }, 600, 3]);
  await page.getByRole("button", { name: "Clone" }).click();
  await page.waitForURL(/from=/);
  await page.waitForFunction(() => document.querySelector("input[type=number]")?.value === "30");
  await page.getByLabel("Below").fill("31");
  await page.getByRole("button", { name: "Submit" }).click();
  await page.getByText("COMPLETED").first().waitFor();
  assert.deepEqual((await api("GET", `jobs/${page.url().split("/").pop()}`)).parameters, { below: 31 });
  content(page);
});

test("inputs are found by name and id, brought in place, named, and cloned as they were", async () => {
  const made = [];
  for (const name of ["picked-trees", "picked-birds"]) {
    const artifact = await api("POST", "artifacts", { type: "tabular", name });
    await api("PUT", `artifacts/${artifact.id}/files/${name}.csv`, "a,b\n1,2\n", "text/csv");
    await api("POST", `artifacts/${artifact.id}/commit`, {});
    made.push(artifact.id);
  }
  await opened("jobs/new?processor=nobody-takes-inputs");
  const add = page.getByLabel("Add an artifact");
  await add.fill("picked-tr");
  await page.getByRole("list", { name: "Artifacts that fit" }).getByRole("button", { name: /picked-trees/ }).click();
  await add.fill(made[1]);
  await page.getByRole("list", { name: "Artifacts that fit" }).getByText("picked-birds").waitFor();
  await add.press("Enter");
  await page.getByText("Bring files of your own").click();
  await page.getByLabel("files", { exact: true }).setInputFiles([{ name: "mine.csv", mimeType: "text/csv", buffer: Buffer.from("c\n3\n") }]);
  const chosen = page.getByRole("list", { name: "Chosen inputs" });
  await chosen.getByRole("listitem").filter({ hasText: "mine.csv" }).getByText("COMMITTED").waitFor();
  await page.getByLabel("Name of input picked-trees").fill("trees");
  await page.getByText("Some inputs have a name").waitFor();
  assert.ok(await page.getByRole("button", { name: "Submit" }).isDisabled());
  await page.getByLabel("Name of input picked-birds").fill("rest");
  await page.getByLabel("Name of input mine.csv").fill("rest");
  await page.getByRole("button", { name: "Submit" }).click();
  await page.getByRole("heading", { name: "nobody-takes-inputs" }).waitFor();
  const job = await api("GET", `jobs/${page.url().split("/").pop()}`);
  assert.deepEqual(Object.keys(job.inputs), ["trees", "rest"]);
  assert.deepEqual([job.inputs.trees, job.inputs.rest[0]], made);

  const inputs = here("Inputs");
  await inputs.getByRole("button", { name: "Look at picked-trees.csv" }).click();
  await inputs.getByRole("columnheader", { name: "a", exact: true }).waitFor();
  await page.getByRole("button", { name: "Clone" }).click();
  await chosen.getByText("picked-birds").waitFor();
  assert.equal(await page.getByLabel("Name of input picked-trees").inputValue(), "trees");
  await page.getByLabel("Remove input picked-trees").click();
  await page.getByRole("button", { name: "Submit" }).click();
  await page.waitForURL((url) => /jobs\/[0-9a-f-]{36}$/.test(url.pathname) && !url.pathname.endsWith(job.id));
  assert.deepEqual((await api("GET", `jobs/${page.url().split("/").pop()}`)).inputs, { rest: job.inputs.rest });
  content(page);
});

test("an input that is not there is refused in words, and odd ones stay what they are", async () => {
  await opened("jobs/new?processor=nobody-takes-this-either");
  const add = page.getByLabel("Add an artifact");
  await add.fill("0193d2a0-0000-7000-8000-000000000000");
  await page.getByText("No committed artifact fits").waitFor();
  await add.press("Enter");
  await page.getByRole("button", { name: "Submit" }).click();
  assert.match(await page.getByRole("alert").innerText(), /no artifact/);

  const odd = await api("POST", "jobs", { processor: "nobody-takes-this-either", inputs: { a: { file: "/nfs/x", part: 3 } } });
  await opened(`jobs/new?from=${odd.id}`);
  await page.getByText('{"file":"/nfs/x","part":3}').waitFor();
  await page.getByRole("button", { name: "Submit" }).click();
  await page.waitForURL((url) => /jobs\/[0-9a-f-]{36}$/.test(url.pathname));
  assert.deepEqual((await api("GET", `jobs/${page.url().split("/").pop()}`)).inputs, { a: { file: "/nfs/x", part: 3 } });

  const odder = await api("POST", "jobs", { processor: "nobody-takes-this-either", inputs: { none: [] } });
  await opened(`jobs/new?from=${odder.id}`);
  await page.getByRole("textbox", { name: "Inputs" }).waitFor();
  await page.getByRole("button", { name: "Submit" }).click();
  await page.waitForURL((url) => /jobs\/[0-9a-f-]{36}$/.test(url.pathname));
  assert.deepEqual((await api("GET", `jobs/${page.url().split("/").pop()}`)).inputs, { none: [] });
  content(page);
});
