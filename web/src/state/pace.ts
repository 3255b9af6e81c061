/** What a job's reports tell of its phases and of how fast it goes. */
import type { Transition } from "../api/types";

export interface Phase {
  key: string;
  name: string;
  began: number;
  ended: number | null;
  from: number | null;
  to: number | null;
  message: string;
  reports: number;
}

const POINTS = 12;

/** Each time a job said that it is in another phase than before, in one attempt. */
export function phases(history: Transition[], end: number | null): Phase[] {
  const found: Phase[] = [];
  const current = latestAttempt(history);
  for (const item of history) {
    if (item.attempt !== current || !item.phase) continue;
    const at = Date.parse(item.timestamp);
    const last = found.at(-1);
    if (last === undefined || last.name !== item.phase) {
      if (last) last.ended = at;
      found.push({ key: item.id, name: item.phase, began: at, ended: null, from: item.progress, to: item.progress, message: item.message ?? "", reports: 1 });
    } else {
      last.to = item.progress ?? last.to;
      last.message = item.message ?? last.message;
      last.reports += 1;
    }
  }
  const last = found.at(-1);
  if (last) last.ended = end;
  return found;
}

/** When it will be done at the pace of its last reports; null when they tell nothing of that. */
export function doneAt(history: Transition[]): number | null {
  const current = latestAttempt(history);
  const told: { at: number; progress: number }[] = [];
  for (const item of history) {
    if (item.attempt !== current || item.progress === null || item.to_status !== "STARTED") continue;
    const last = told.at(-1);
    // whoever begins a new phase at nought begins to count anew
    if (last && item.progress < last.progress) told.length = 0;
    if (last === undefined || item.progress !== last.progress) told.push({ at: Date.parse(item.timestamp), progress: item.progress });
  }
  const [first, last] = [told.slice(-POINTS)[0], told.at(-1)];
  if (first === undefined || last === undefined || last.at <= first.at || last.progress <= first.progress || last.progress >= 1) return null;
  return last.at + ((1 - last.progress) * (last.at - first.at)) / (last.progress - first.progress);
}

function latestAttempt(history: Transition[]): number {
  return history.at(-1)?.attempt ?? 1;
}
