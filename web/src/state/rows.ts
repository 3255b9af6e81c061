/** The first rows of a Parquet file, read beside the page from the few ranges that hold them, and given up when that takes too long. */
import { headers, url } from "../api/http";

export interface Column {
  name: string;
  least: string;
  most: string;
  missing: number | null;
}

export interface Rows {
  names: string[];
  rows: string[][];
  columns: Column[];
  /** How many columns were left out, for there are too many or their bytes are. */
  left: number;
}

export interface Wanted {
  url: string;
  headers: Record<string, string>;
  size: number;
}

export type Told = { rows: Rows } | { reason: string };

const PATIENCE_SECONDS = 15;

/** In a worker of its own: whatever the file holds, the page goes on answering, and nothing outlives the look at it. */
export function firstRows(place: string, size: number, signal: AbortSignal): Promise<Rows> {
  const worker = new Worker(new URL("./parquet.ts", import.meta.url), { type: "module" });
  let late: ReturnType<typeof setTimeout> | undefined;
  const told = new Promise<Rows>((resolve, reject) => {
    late = setTimeout(() => reject(new Error(`it took longer than ${PATIENCE_SECONDS} seconds`)), PATIENCE_SECONDS * 1000);
    worker.onmessage = ({ data }: MessageEvent<Told>) => ("rows" in data ? resolve(data.rows) : reject(new Error(data.reason)));
    worker.onerror = () => reject(new Error("what reads it cannot be loaded: load the page again"));
    signal.addEventListener("abort", () => reject(new DOMException("stopped", "AbortError")), { once: true });
    worker.postMessage({ url: url(place), headers: headers({}), size } satisfies Wanted);
  });
  return told.finally(() => {
    clearTimeout(late);
    worker.terminate();
  });
}
