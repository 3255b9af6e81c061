/** Any part of a log, however long it is, and a look for a text through all of it. */
import { read } from "../api/http";

export const PART_BYTES = 1024 * 1024;
// a window is looked at in one go, and the page answers between two of them
const WINDOW_BYTES = 1024 * 1024;
const MOST_HITS = 2000;
const LONGEST_HIT = 200;
const NEWLINE = 10;

export interface Part {
  lines: string[];
  /** At which byte of the log each line begins. */
  starts: number[];
  from: number;
  to: number;
  size: number;
}

export interface Hit {
  offset: number;
  text: string;
}

export interface Sought {
  hits: Hit[];
  done: number;
  size: number;
  isCut: boolean;
}

/** The whole lines of the log that begin there or soon after. */
export async function partOf(job: string, stream: string, offset: number, signal?: AbortSignal): Promise<Part> {
  // the byte before tells whether a line begins here
  const begin = Math.max(0, offset - 1);
  const { bytes, size } = await window(job, stream, begin, PART_BYTES + Math.max(0, offset) - begin, signal);
  const all = linesOf(bytes, begin);
  const isEnd = begin + bytes.length >= size;
  // the first and the last may be halves of lines
  const first = begin > 0 && all.length > 1 ? 1 : 0;
  const last = isEnd || all.length - first <= 1 ? all.length : all.length - 1;
  const shown = all.slice(first, last).filter((line, at, every) => line.text !== "" || at < every.length - 1);
  return {
    lines: shown.map((line) => line.text),
    starts: shown.map((line) => line.offset),
    from: shown[0]?.offset ?? begin,
    to: isEnd ? size : (all[last]?.offset ?? begin + bytes.length),
    size,
  };
}

/** Every line with the text in it, told as they are found; each window is looked at by itself, so nothing is kept of it. */
export async function search(job: string, stream: string, text: string, told: (found: Sought) => void, signal: AbortSignal): Promise<void> {
  const wanted = text.toLowerCase();
  const found: Sought = { hits: [], done: 0, size: 1, isCut: false };
  for (let offset = 0; offset < found.size && !found.isCut; ) {
    const { bytes, size } = await window(job, stream, offset, WINDOW_BYTES, signal);
    found.size = size;
    if (bytes.length === 0) break;
    const cut = offset + bytes.length < size ? bytes.lastIndexOf(NEWLINE) + 1 : bytes.length;
    const whole = bytes.subarray(0, cut || bytes.length);
    look(whole, offset, wanted, found);
    offset += whole.length;
    found.done = offset;
    told({ ...found, hits: [...found.hits] });
  }
}

function look(bytes: Uint8Array, offset: number, wanted: string, found: Sought): void {
  // most windows hold nothing of it, and need not be taken apart
  if (!new TextDecoder().decode(bytes).toLowerCase().includes(wanted)) return;
  for (const line of linesOf(bytes, offset)) {
    if (!line.text.toLowerCase().includes(wanted)) continue;
    if (found.hits.length === MOST_HITS) {
      found.isCut = true;
      return;
    }
    found.hits.push({ offset: line.offset, text: line.text.slice(0, LONGEST_HIT) });
  }
}

function linesOf(bytes: Uint8Array, offset: number): { text: string; offset: number }[] {
  const decoder = new TextDecoder();
  const found: { text: string; offset: number }[] = [];
  for (let start = 0; start <= bytes.length; ) {
    const newline = bytes.indexOf(NEWLINE, start);
    const end = newline < 0 ? bytes.length : newline;
    found.push({ text: decoder.decode(bytes.subarray(start, end)), offset: offset + start });
    if (newline < 0) break;
    start = end + 1;
  }
  return found;
}

async function window(job: string, stream: string, offset: number, limit: number, signal?: AbortSignal): Promise<{ bytes: Uint8Array; size: number }> {
  const path = `api/hpc/jobs/${encodeURIComponent(job)}/logs/${encodeURIComponent(stream)}`;
  const answer = await read(path, { query: { offset, limit }, ...(signal ? { signal } : {}) });
  const bytes = new Uint8Array(await answer.arrayBuffer());
  return { bytes, size: Number(answer.headers.get("X-Log-Size") ?? offset + bytes.length) };
}
