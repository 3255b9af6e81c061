/** What a job takes as input, as rows that people can edit, and as the JSON that it is. */

/** A reference is an artifact's id, or whatever object a client made of it; it is kept as it is. */
export interface Input {
  key: number;
  name: string;
  reference: unknown;
  /** What it is waited for: files that are still on their way. */
  waits: boolean;
}

let last = 0;

export function input(reference: unknown, name = "", waits = false): Input {
  return { key: ++last, name, reference, waits };
}

/** Null when it is in no shape that rows can have. */
export function rows(value: unknown): Input[] | null {
  if (value === null || value === undefined) return [];
  if (Array.isArray(value)) return value.every(isReference) ? value.map((each) => input(each)) : null;
  if (typeof value !== "object") return null;
  const found: Input[] = [];
  for (const [name, each] of Object.entries(value)) {
    const references: unknown[] = Array.isArray(each) ? each : [each];
    if (name === "" || references.length === 0 || !references.every(isReference)) return null;
    found.push(...references.map((one) => input(one, name)));
  }
  return found;
}

/** Without names a list; with names an object, where one name may stand for several. */
export function joined(inputs: Input[]): unknown {
  if (inputs.length === 0) return null;
  if (inputs.every((each) => each.name === "")) return inputs.map((each) => each.reference);
  const found: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  for (const { name, reference } of inputs) {
    const before = found[name];
    found[name] = before === undefined ? reference : Array.isArray(before) ? [...(before as unknown[]), reference] : [before, reference];
  }
  return found;
}

/** Some have names and some have none: then nobody knows what was meant. */
export function isMixed(inputs: Input[]): boolean {
  return inputs.some((each) => each.name === "") && inputs.some((each) => each.name !== "");
}

/** The artifact that a reference names, if it names one. */
export function artifactOf(reference: unknown): string {
  if (typeof reference === "string") return reference;
  const named = (reference as { artifact_id?: unknown } | null)?.artifact_id;
  return typeof named === "string" ? named : "";
}

function isReference(value: unknown): boolean {
  return typeof value === "string" || (typeof value === "object" && value !== null && !Array.isArray(value));
}
