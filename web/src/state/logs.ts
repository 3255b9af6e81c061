/** What a job writes, line by line as it comes; only so much is kept here that a page of any age stays quick. */
import { onScopeDispose, ref, shallowRef, triggerRef, watch, type Ref, type ShallowRef } from "vue";
import { read, url } from "../api/http";
import type { LogEvent } from "../api/types";

const TAIL_LINES = 5000;
export const MOST_LINES = 100_000;
const LONGEST_LINE = 20_000;
const WINDOW_BYTES = 4 * 1024 * 1024;

export interface Log {
  lines: ShallowRef<string[]>;
  /** How many lines were here and are left out by now. */
  dropped: Ref<number>;
  /** Whether there is more in front of what is here. */
  isPartial: Ref<boolean>;
  isCut: Ref<boolean>;
  isOver: Ref<boolean>;
  isLive: Ref<boolean>;
}

export function followed(place: () => { job: string; stream: string } | null): Log {
  const lines = shallowRef<string[]>([]);
  const dropped = ref(0);
  const [isPartial, isCut, isOver, isLive] = [ref(false), ref(false), ref(false), ref(false)];
  let source: EventSource | null = null;
  let rest = "";
  let hasRest = false;
  let isFresh = true;
  let frame = 0;
  let attempt = 0;
  let end = 0;

  function clear(): void {
    lines.value = [];
    dropped.value = 0;
    rest = "";
    hasRest = false;
    isFresh = true;
    attempt = end = 0;
    isPartial.value = isCut.value = isOver.value = false;
  }

  /** A line that is not over yet is shown too, and replaced when more of it comes. */
  function append(text: string): void {
    const kept = lines.value;
    if (hasRest) kept.pop();
    const found = (rest + text).split("\n");
    rest = found.pop()!.slice(-LONGEST_LINE);
    hasRest = rest !== "";
    for (const line of found) kept.push(seen(line));
    if (hasRest) kept.push(seen(rest));
    if (kept.length > MOST_LINES * 1.1) {
      dropped.value += kept.length - MOST_LINES;
      kept.splice(0, kept.length - MOST_LINES);
    }
    frame ||= requestAnimationFrame(() => {
      frame = 0;
      triggerRef(lines);
    });
  }

  function begin(): void {
    clear();
    open();
  }

  /** A browser keeps few connections to one server, so a page that nobody sees gives its own back and goes on later. */
  function open(): void {
    source?.close();
    isLive.value = false;
    const wanted = place();
    if (wanted === null || isOver.value || document.visibilityState === "hidden") return;
    const path = `api/hpc/jobs/${encodeURIComponent(wanted.job)}/logs/${encodeURIComponent(wanted.stream)}/events`;
    const mine = (source = new EventSource(url(path, end ? { offset: end } : { tail: TAIL_LINES })));
    const on = (name: string, then: (said: LogEvent) => void) =>
      mine.addEventListener(name, (event) => then(JSON.parse((event as MessageEvent<string>).data) as LogEvent));
    mine.onopen = () => (isLive.value = true);
    mine.onerror = () => (isLive.value = false);
    on("log", (said) => {
      if (attempt && said.attempt !== attempt) return begin();
      attempt = said.attempt;
      end = said.offset + (said.size_bytes ?? 0);
      if (isFresh) isPartial.value = said.offset > 0;
      isFresh = false;
      append(said.text ?? "");
    });
    on("attempt", clear);
    on("cut", () => (isCut.value = true));
    on("end", () => {
      isOver.value = true;
      isLive.value = false;
      mine.close();
    });
  }

  watch(() => JSON.stringify(place()), begin, { immediate: true });
  document.addEventListener("visibilitychange", open);
  onScopeDispose(() => {
    document.removeEventListener("visibilitychange", open);
    source?.close();
    cancelAnimationFrame(frame);
  });
  return { lines, dropped, isPartial, isCut, isOver, isLive };
}

/** A line as a terminal would leave it: what a carriage return went back over is gone. */
export function seen(line: string): string {
  const shown = line.endsWith("\r") ? line.slice(0, -1) : line;
  return shown.slice(shown.lastIndexOf("\r") + 1).slice(0, LONGEST_LINE);
}

/** All of a log as one file, fetched in windows. */
export async function whole(job: string, stream: string): Promise<Blob> {
  const parts: Blob[] = [];
  const path = `api/hpc/jobs/${encodeURIComponent(job)}/logs/${encodeURIComponent(stream)}`;
  for (let offset = 0; ; ) {
    const answer = await read(path, { query: { offset, limit: WINDOW_BYTES } });
    const part = await answer.blob();
    if (part.size === 0) return new Blob(parts, { type: "text/plain" });
    parts.push(part);
    offset += part.size;
  }
}
