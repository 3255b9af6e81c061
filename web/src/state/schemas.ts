/** What a JSON schema asks of a value, as far as forms need it; of words that it does not know it says nothing. */

export interface Schema {
  type?: string | string[];
  title?: string;
  description?: string;
  default?: unknown;
  examples?: unknown[];
  enum?: unknown[];
  const?: unknown;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  exclusiveMaximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
}

/** One thing that does not fit, and where. */
export interface Misfit {
  path: string;
  text: string;
}

const DEEPEST = 16;

export function misfits(schema: Schema, value: unknown, path = "", depth = 0): Misfit[] {
  if (typeof schema !== "object" || schema === null || depth > DEEPEST) return [];
  const kinds = kindsOf(schema);
  if (kinds.length && !kinds.some((kind) => isOf(kind, value))) return [{ path, text: `must be ${kinds.map(named).join(" or ")}` }];
  return [...ofAny(schema, value, path), ...ofNumber(schema, value, path), ...ofText(schema, value, path), ...inside(schema, value, path, depth)];
}

export function kindsOf(schema: Schema): string[] {
  if (typeof schema.type === "string") return [schema.type];
  return Array.isArray(schema.type) ? schema.type.filter((kind) => typeof kind === "string") : [];
}

/** The properties that a form can show, in the order of the schema. */
export function propertiesOf(schema: unknown): [string, Schema][] {
  const found = (schema as Schema | null)?.properties;
  if (typeof found !== "object" || found === null) return [];
  return Object.entries(found).filter((pair) => typeof pair[1] === "object" && pair[1] !== null);
}

/** What the schema's defaults make of nothing. */
export function begun(schema: unknown): Record<string, unknown> {
  const usual = propertiesOf(schema).filter(([, each]) => each.default !== undefined);
  return Object.fromEntries(usual.map(([name, each]) => [name, each.default]));
}

function ofAny(schema: Schema, value: unknown, path: string): Misfit[] {
  const found: Misfit[] = [];
  if (Array.isArray(schema.enum) && !schema.enum.some((each) => isSame(each, value))) {
    found.push({ path, text: `must be one of ${schema.enum.map((each) => JSON.stringify(each)).join(", ")}` });
  }
  if (schema.const !== undefined && !isSame(schema.const, value)) found.push({ path, text: `must be ${JSON.stringify(schema.const)}` });
  return found;
}

function ofNumber(schema: Schema, value: unknown, path: string): Misfit[] {
  if (typeof value !== "number") return [];
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema;
  const rules: [unknown, (limit: number) => boolean, string][] = [
    [minimum, (limit) => value >= limit, "at least"],
    [maximum, (limit) => value <= limit, "at most"],
    [exclusiveMinimum, (limit) => value > limit, "more than"],
    [exclusiveMaximum, (limit) => value < limit, "less than"],
  ];
  return broken(rules, path, "must be");
}

function ofText(schema: Schema, value: unknown, path: string): Misfit[] {
  const { minLength, maxLength, minItems, maxItems } = schema;
  if (typeof value === "string") {
    const length = [...value].length;
    return broken([[minLength, (limit) => length >= limit, "at least"], [maxLength, (limit) => length <= limit, "at most"]], path, "must have", "letters");
  }
  if (!Array.isArray(value)) return [];
  const count = value.length;
  return broken([[minItems, (limit) => count >= limit, "at least"], [maxItems, (limit) => count <= limit, "at most"]], path, "must have", "items");
}

function broken(rules: [unknown, (limit: number) => boolean, string][], path: string, verb: string, noun = ""): Misfit[] {
  return rules.flatMap(([limit, holds, words]) =>
    typeof limit === "number" && !holds(limit) ? [{ path, text: `${verb} ${words} ${limit} ${noun}`.trim() }] : [],
  );
}

function inside(schema: Schema, value: unknown, path: string, depth: number): Misfit[] {
  if (Array.isArray(value)) {
    const each = schema.items;
    return each ? value.flatMap((item, at) => misfits(each, item, `${path}[${at}]`, depth + 1)) : [];
  }
  if (!isOf("object", value)) return [];
  const given = value as Record<string, unknown>;
  const known = propertiesOf(schema);
  const names = new Set(known.map(([name]) => name));
  const below = (name: string) => (path ? `${path}.${name}` : name);
  const required = Array.isArray(schema.required) ? schema.required : [];
  const missing = required.filter((name) => typeof name === "string" && !Object.hasOwn(given, name));
  const strange = schema.additionalProperties === false ? Object.keys(given).filter((name) => !names.has(name)) : [];
  return [
    ...missing.map((name) => ({ path: below(name), text: "is required" })),
    ...strange.map((name) => ({ path: below(name), text: "is not known" })),
    ...known.flatMap(([name, each]) => (Object.hasOwn(given, name) ? misfits(each, given[name], below(name), depth + 1) : [])),
  ];
}

function isOf(kind: string, value: unknown): boolean {
  switch (kind) {
    case "integer":
      return Number.isInteger(value);
    case "array":
      return Array.isArray(value);
    case "null":
      return value === null;
    case "object":
      return typeof value === "object" && value !== null && !Array.isArray(value);
    case "string":
    case "number":
    case "boolean":
      return typeof value === kind;
    default:
      return true;
  }
}

function named(kind: string): string {
  const words: Record<string, string> = { integer: "a whole number", number: "a number", string: "a text", boolean: "true or false", array: "a list", object: "an object" };
  return words[kind] ?? kind;
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
