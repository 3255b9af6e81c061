/** Hashes files beside the page, one after the other, so that the page goes on answering. */
import { Sha256 } from "./sha256";

export interface Told {
  id: number;
  hashed?: number;
  sha256?: string;
  reason?: string;
}

const PIECE = 4 * 1024 * 1024;
let last: Promise<void> = Promise.resolve();

self.onmessage = ({ data }: MessageEvent<{ id: number; file: File }>) => {
  last = last.then(() => hash(data.id, data.file));
};

async function hash(id: number, file: File): Promise<void> {
  try {
    const sum = new Sha256();
    for (let start = 0; start < file.size; start += PIECE) {
      sum.update(new Uint8Array(await file.slice(start, start + PIECE).arrayBuffer()));
      tell({ id, hashed: Math.min(start + PIECE, file.size) });
    }
    tell({ id, sha256: sum.hex() });
  } catch (error) {
    tell({ id, reason: `the file cannot be read: ${(error as Error).message}` });
  }
}

function tell(told: Told): void {
  self.postMessage(told);
}
