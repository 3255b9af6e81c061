/** Files on their way from this browser: they go on whatever page is open, and after the server was away. */
import { computed, reactive, shallowReactive } from "vue";
import { Refused, Unreachable } from "../api/http";
import type { Told } from "./hashing";
import { isThere, placeOf, sendPart, type Parcel } from "./sending";

export interface Chosen {
  path: string;
  file: File;
}

export type Standing = "waits" | "hashing" | "sending" | "away" | "done" | "failed" | "stopped";

export interface Transfer extends Chosen {
  id: number;
  artifact: string;
  standing: Standing;
  hashed: number;
  sent: number;
  sha256: string;
  reason: string;
  stopping: AbortController;
}

const AT_ONCE = 3;
const LONGEST_PAUSE_SECONDS = 8;
/** What may well be otherwise in a moment: somebody else's connection, a limit, an upload that has expired. */
const PASSING = new Set([404, 423, 429, 460]);
const MOST_REFUSALS = 5;
const RESTS = new Set<Standing>(["done", "failed", "stopped"]);

export const transfers = shallowReactive<Transfer[]>([]);
export const isBusy = computed(() => transfers.some((each) => !RESTS.has(each.standing)));

const waiting: Transfer[] = [];
const hashes = new Map<number, { transfer: Transfer; resolve: (sha256: string) => void; reject: (error: Error) => void }>();
let last = 0;
let carriers = 0;
let worker: Worker | null = null;

export function isOver(transfer: Transfer): boolean {
  return RESTS.has(transfer.standing);
}

export function bring(artifact: string, chosen: Chosen[]): void {
  for (const { path, file } of chosen) {
    const usual = { standing: "waits" as const, hashed: 0, sent: 0, sha256: "", reason: "" };
    const transfer = reactive({ ...usual, id: ++last, artifact, path, file, stopping: new AbortController() }) as Transfer;
    transfers.push(transfer);
    waiting.push(transfer);
  }
  while (carriers < AT_ONCE && waiting.length > 0) {
    carriers += 1;
    void work();
  }
  window.addEventListener("beforeunload", warn);
}

export function again(transfer: Transfer): void {
  transfers.splice(transfers.indexOf(transfer), 1);
  bring(transfer.artifact, [transfer]);
}

export function stop(transfer: Transfer): void {
  if (isOver(transfer)) return;
  transfer.standing = "stopped";
  transfer.stopping.abort();
}

async function work(): Promise<void> {
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) if (!isOver(next)) await carry(next);
  carriers -= 1;
}

async function carry(transfer: Transfer): Promise<void> {
  try {
    transfer.standing = "hashing";
    transfer.sha256 = await hashed(transfer);
    await insist(transfer);
    if (!isOver(transfer)) transfer.standing = "done";
  } catch (error) {
    if (isOver(transfer)) return;
    transfer.standing = "failed";
    transfer.reason = (error as Error).message;
  }
}

/** Try until it is there; only what would be the same the next time ends it. */
async function insist(transfer: Transfer): Promise<void> {
  let pause = 1;
  let refusals = 0;
  while (!isOver(transfer)) {
    const before = transfer.sent;
    try {
      return await send(transfer);
    } catch (error) {
      if (isOver(transfer)) return;
      if (transfer.sent > before) [pause, refusals] = [1, 0];
      if (!passes(error) || (error instanceof Refused && ++refusals > MOST_REFUSALS)) throw error;
      transfer.standing = "away";
      await new Promise((resolve) => setTimeout(resolve, pause * 1000));
      pause = Math.min(pause * 2, LONGEST_PAUSE_SECONDS);
    }
  }
}

function passes(error: unknown): boolean {
  if (error instanceof Unreachable) return true;
  if (!(error instanceof Refused)) return false;
  const isOffset = error.status === 409 && error.kind.includes("offset");
  return PASSING.has(error.status) || isOffset || (error.status >= 500 && error.status !== 507);
}

async function send(transfer: Transfer): Promise<void> {
  const parcel: Parcel = transfer;
  const size = transfer.file.size;
  if (await isThere(parcel)) {
    transfer.sent = size;
    return;
  }
  let place = await placeOf(parcel);
  transfer.sent = place.offset;
  transfer.standing = "sending";
  while (place.offset < size && !isOver(transfer)) {
    place = await sendPart(parcel, place, (sent) => (transfer.sent = Math.min(sent, size)), transfer.stopping.signal);
    transfer.sent = place.offset;
  }
}

function hashed(transfer: Transfer): Promise<string> {
  worker ??= started();
  const { id, file } = transfer;
  return new Promise((resolve, reject) => {
    hashes.set(id, { transfer, resolve, reject });
    worker?.postMessage({ id, file });
  });
}

function started(): Worker {
  const made = new Worker(new URL("./hashing.ts", import.meta.url), { type: "module" });
  made.onmessage = ({ data }: MessageEvent<Told>) => {
    const known = hashes.get(data.id);
    if (known === undefined) return;
    if (data.hashed !== undefined) known.transfer.hashed = data.hashed;
    if (data.sha256 !== undefined) known.resolve(data.sha256);
    if (data.reason !== undefined) known.reject(new Error(data.reason));
    if (data.hashed === undefined) hashes.delete(data.id);
  };
  made.onerror = () => {
    for (const { reject } of hashes.values()) reject(new Error("the hashes cannot be made: load the page again"));
    hashes.clear();
    worker = null;
  };
  return made;
}

function warn(event: BeforeUnloadEvent): void {
  if (isBusy.value) event.preventDefault();
}
