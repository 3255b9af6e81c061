/** The same thing done to many, a few at a time; what went wrong with some does not stop the others. */

export interface Outcome {
  done: number;
  failed: { item: string; reason: string }[];
}

const AT_ONCE = 4;

export async function forEach(items: string[], act: (item: string) => Promise<unknown>): Promise<Outcome> {
  const waiting = [...items];
  const outcome: Outcome = { done: 0, failed: [] };
  async function work(): Promise<void> {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) {
      try {
        await act(item);
        outcome.done += 1;
      } catch (error) {
        outcome.failed.push({ item, reason: (error as Error).message });
      }
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return outcome;
}
