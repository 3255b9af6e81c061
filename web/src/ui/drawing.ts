/** Where the artifacts and jobs around an artifact stand in a drawing: what came before to the left, what came after to the right. */
import type { Provenance } from "../api/types";
import { brief, bytes } from "./words";

export interface Node {
  key: string;
  kind: "artifact" | "job";
  name: string;
  about: string;
  to: string;
  isHere: boolean;
  x: number;
  y: number;
}
export interface Edge {
  key: string;
  path: string;
  usedAs: string;
}
export interface Picture {
  nodes: Node[];
  edges: Edge[];
  width: number;
  height: number;
  nodeWidth: number;
  nodeHeight: number;
}

const [WIDTH, HEIGHT, ACROSS, DOWN, MARGIN] = [168, 44, 52, 24, 14];

/** Arrows from what was there first: an input leads to its job, a job to what it made. */
function arrows(told: Provenance): [string, string, string][] {
  return told.ties.map((tie) => {
    const [artifact, job] = [`a ${tie.artifact_id}`, `j ${tie.job_id}`];
    return tie.used_as === "input" ? [artifact, job, tie.used_as] : [job, artifact, tie.used_as];
  });
}

/** In which column each stands: as many steps from the artifact as the way there has, at the longest; a circle ends where it began. */
function columns(links: [string, string, string][], here: string): Map<string, number> {
  const found = new Map([[here, 0]]);
  for (const [side, from, to] of [[-1, 1, 0], [1, 0, 1]] as const) {
    let edge = [here];
    for (let steps = 1; edge.length > 0 && steps <= links.length; steps += 1) {
      const next = links.filter((link) => edge.includes(link[from])).map((link) => link[to]);
      edge = [...new Set(next)].filter((key) => key !== here && (found.get(key) ?? side) * side > 0);
      for (const key of edge) found.set(key, side * steps);
    }
  }
  return found;
}

export function drawn(told: Provenance, artifact: string): Picture {
  const links = arrows(told);
  const here = `a ${artifact}`;
  const place = columns(links, here);
  const first = Math.min(...place.values());
  const stacks: string[][] = [];
  for (const key of [...told.artifacts.map((each) => `a ${each.id}`), ...told.jobs.map((each) => `j ${each.id}`)]) {
    (stacks[(place.get(key) ?? 0) - first] ??= []).push(key);
  }
  const filled = Array.from(stacks, (stack) => stack ?? []);
  const tallest = Math.max(...filled.map((stack) => stack.length));
  const height = tallest * (HEIGHT + DOWN) - DOWN + 2 * MARGIN;
  const spots = new Map<string, { x: number; y: number }>();
  filled.forEach((stack, column) => {
    arranged(stack, links, spots).forEach((key, at) => {
      const top = (height - stack.length * (HEIGHT + DOWN) + DOWN) / 2;
      spots.set(key, { x: MARGIN + column * (WIDTH + ACROSS), y: top + at * (HEIGHT + DOWN) });
    });
  });
  const width = filled.length * (WIDTH + ACROSS) - ACROSS + 2 * MARGIN;
  return { nodes: nodes(told, artifact, spots), edges: edges(links, spots), width, height, nodeWidth: WIDTH, nodeHeight: HEIGHT };
}

/** In the order of what they are tied to in the columns before, so that few lines cross. */
function arranged(stack: string[], links: [string, string, string][], spots: Map<string, { y: number }>): string[] {
  const weight = (key: string): number => {
    const near = links.filter((link) => link[0] === key || link[1] === key).map((link) => spots.get(link[0] === key ? link[1] : link[0])?.y);
    const known = near.filter((y) => y !== undefined);
    return known.length ? known.reduce((sum, y) => sum + y, 0) / known.length : Number.MAX_SAFE_INTEGER;
  };
  return [...stack].sort((a, b) => weight(a) - weight(b));
}

function nodes(told: Provenance, artifact: string, spots: Map<string, { x: number; y: number }>): Node[] {
  const all = [
    ...told.artifacts.map((each) => ({
      key: `a ${each.id}`,
      kind: "artifact" as const,
      name: each.name ?? brief(each.id),
      about: each.size_bytes === null ? each.type : `${each.type}, ${bytes(each.size_bytes)}`,
      to: `/artifacts/${each.id}`,
      isHere: each.id === artifact,
    })),
    ...told.jobs.map((each) => ({ key: `j ${each.id}`, kind: "job" as const, name: each.processor, about: `${each.status.toLowerCase()} on ${each.worker_id ?? "no worker"}`, to: `/jobs/${each.id}`, isHere: false })),
  ];
  // in the order in which they are read, which is that of the keyboard too
  const placed = all.map((each) => ({ ...each, ...(spots.get(each.key) ?? { x: 0, y: 0 }) }));
  return placed.sort((a, b) => a.x - b.x || a.y - b.y);
}

function edges(links: [string, string, string][], spots: Map<string, { x: number; y: number }>): Edge[] {
  return links.flatMap(([from, to, usedAs]) => {
    const [start, end] = [spots.get(from), spots.get(to)];
    if (!start || !end) return [];
    const [x1, y1, x2, y2] = [start.x + WIDTH, start.y + HEIGHT / 2, end.x, end.y + HEIGHT / 2];
    const bend = Math.max(ACROSS / 2, Math.abs(x2 - x1) / 2);
    // what leads past another column goes over it, not behind it
    const lift = x2 - x1 > 2 * ACROSS ? HEIGHT : 0;
    return [{ key: `${from} ${to} ${usedAs}`, usedAs, path: `M${x1} ${y1}C${x1 + bend} ${y1 - lift} ${x2 - bend} ${y2 - lift} ${x2} ${y2}` }];
  });
}
