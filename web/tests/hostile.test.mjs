import assert from "node:assert/strict";
import { after, test } from "node:test";
import { api, close, content, server, signedIn } from "./browser.mjs";

after(close);

const CORPUS = [
  `<script>window.pwned = 1</script>`,
  `<img src=x onerror="window.pwned = 1">`,
  `"><svg onload=alert(1)>`,
  `javascript:alert(1)`,
  `{{ constructor.constructor('window.pwned = 1')() }}`,
  `' onmouseover='alert(1)`,
  `\u202e gnirts a`,
];

test("nothing that others wrote is ever run", async () => {
  const page = await signedIn();
  const ids = { jobs: [], artifacts: [] };
  for (const text of CORPUS) {
    const job = await api("POST", "jobs", { processor: text.slice(0, 60), profile: text.slice(0, 60), parameters: { [text]: text }, inputs: { a: text } });
    await api("POST", `jobs/${job.id}/cancel`, { detail: text });
    ids.jobs.push(job.id);
    const artifact = await api("POST", "artifacts", { type: "blob", name: text, metadata: { text } });
    await api("PUT", `artifacts/${artifact.id}/files/${encodeURIComponent(text)}`, text, "text/html");
    await api("PUT", `artifacts/${artifact.id}/files/t.csv`, `${text},b\n${text},c\n`, "text/html");
    ids.artifacts.push(`${artifact.id}?file=${encodeURIComponent(text)}`, `${artifact.id}?file=t.csv`);
  }
  const places = ["jobs", "artifacts", "workers", ...ids.jobs.map((id) => `jobs/${id}`), ...ids.artifacts.map((id) => `artifacts/${id}`)];
  for (const place of places) {
    await page.goto(`${server}/ui/${place}`);
    await page.locator("main table").first().waitFor();
    if (place.includes("?file=")) await page.getByRole("region", { name: "Preview" }).locator("pre, table").waitFor();
  }

  assert.equal(await page.evaluate(() => window.pwned), undefined);
  content(page);
});
