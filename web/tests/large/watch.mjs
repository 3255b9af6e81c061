// How smoothly a page goes on: its frames, and the tasks that kept it from drawing.

/** Requests as a worker or a script makes them; these servers ask nobody who they are. */
export async function ask(method, path, body) {
  const response = await fetch(`${process.env.STORY_SERVER}/api/hpc/${path}`, {
    method,
    headers: {
      "Content-Type": "application/json",
      "X-EMX2-API-Version": "2025-01",
      "X-Request-Id": crypto.randomUUID(),
      "X-Timestamp": String(Math.floor(Date.now() / 1000)),
    },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return text === "" ? null : JSON.parse(text);
}

export async function watched(page) {
  await page.evaluate(() => {
    const seen = (window.seen = { frames: [], tasks: [], begun: performance.now(), isOver: false });
    new PerformanceObserver((list) => seen.tasks.push(...list.getEntries().map((each) => each.duration))).observe({ entryTypes: ["longtask"] });
    let last = performance.now();
    const frame = (now) => {
      seen.frames.push(now - last);
      last = now;
      if (!seen.isOver) requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  });
}

/** What was seen since: milliseconds, and the share of the time in which nothing could be drawn or pressed. */
export async function figures(page) {
  return page.evaluate(() => {
    const { frames, tasks, begun } = window.seen;
    window.seen.isOver = true;
    const sorted = [...frames].sort((a, b) => a - b);
    const at = (share) => Math.round(sorted[Math.floor(share * (sorted.length - 1))] ?? 0);
    const blocked = tasks.reduce((sum, each) => sum + each - 50, 0);
    const span = performance.now() - begun;
    const megabytes = Math.round((performance.memory?.usedJSHeapSize ?? 0) / 1e6);
    return { frames: frames.length, median: at(0.5), p95: at(0.95), longest: at(1), longTask: Math.round(Math.max(0, ...tasks)), blocked: blocked / span, seconds: Math.round(span / 1000), megabytes };
  });
}

export function said(name, { frames, median, p95, longest, longTask, blocked, seconds, megabytes }) {
  return `figures: ${name}: ${frames} frames in ${seconds} s, median ${median} ms, p95 ${p95} ms, longest ${longest} ms; longest task ${longTask} ms, blocked ${(blocked * 100).toFixed(1)} % of the time; heap ${megabytes} MB`;
}
